/** What is copied, and what the project promises about it. Data, so that the table printed and the promises can't differ. */
export interface Workload {
  readonly name: string
  readonly what: string
  readonly kind: 'batches' | 'single' | 'transactions'
  readonly partitions: number
  readonly records: number
  /** Mean bytes of a value. */
  readonly size: number
  readonly compression: 'none' | 'lz4'
  readonly targets: Targets
}

/** Ours divided by the peer's, of records a second (at least) and CPU seconds (at most). */
export interface Targets {
  readonly mm2?: number
  readonly 'franz-go'?: number
  readonly ceiling?: number
  readonly cpuOfFranzGo?: number
}

export const WORKLOADS: readonly Workload[] = [
  {
    name: 'plain',
    what: '1 kB values, 8 partitions, 128 kB batches',
    kind: 'batches',
    partitions: 8,
    records: 1_500_000,
    size: 1000,
    compression: 'none',
    targets: { mm2: 4, 'franz-go': 0.9, ceiling: 0.75 },
  },
  {
    name: 'lz4',
    what: 'JSON values of 350 bytes, lz4, 4 partitions',
    kind: 'batches',
    partitions: 4,
    records: 3_000_000,
    size: 350,
    compression: 'lz4',
    targets: { mm2: 6, 'franz-go': 1.5, cpuOfFranzGo: 1 / 3 },
  },
  {
    name: 'single',
    what: '100 byte values, one record per batch, 1 partition',
    kind: 'single',
    partitions: 1,
    records: 500_000,
    size: 100,
    compression: 'none',
    targets: { mm2: 5, 'franz-go': 0.9 },
  },
  {
    name: 'transactions',
    what: '100 byte values, transactions of 100 records, 4 partitions',
    kind: 'transactions',
    partitions: 4,
    records: 100_000,
    size: 100,
    compression: 'none',
    targets: { mm2: 1 },
  },
]

export const LATENCY_RATES = [100, 1000] as const
export const LATENCY_TARGET_MS = 4
export const IDLE_PARTITIONS = 100
export const IDLE_TARGET_PERCENT = 2
export const LIST_TARGET_SECONDS = 0.5
export const RSS_TARGET_MB = 300
/** Of both sides together, on the first of these workloads; the second has other batches on each side. */
export const VERIFY_TARGET_MB_PER_SECOND = 200
export const VERIFY_WORKLOADS: readonly string[] = ['plain', 'single']
