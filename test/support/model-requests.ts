import fc from 'fast-check'
import { type LogRecord, markerRecord, type WrittenBatch, writeBatch, writeOldMessages } from './batch-writer.js'
import type { Codec } from './codecs.js'
import type { Marker } from './model-broker.js'

/** What is wrong with a batch. */
const FAULTS = [
  'base offset above 0',
  'control bit',
  'transactional bit',
  'wrong CRC',
  'no records',
  'count above its records',
  'last offset beyond its records',
  'offset left out',
  'offset twice',
  'no sequence',
  'old format',
  'too large',
  'null key',
  'far future',
] as const

/** One request to a partition, in relation to what its producers sent before. */
export type RequestPlan =
  | {
      readonly kind: 'append'
      /** Missing: a producer that is not idempotent. */
      readonly producer?: number
      /** Added to the producer's epoch. */
      readonly epoch?: number
      /** Added to the sequence that comes next; `zero` begins anew. */
      readonly sequence?: number | 'zero'
      readonly records: number
      readonly codec?: Codec
      readonly fault?: (typeof FAULTS)[number]
    }
  /** A batch sent before, the last or an earlier one, byte by byte. */
  | { readonly kind: 'again'; readonly back: number }
  | { readonly kind: 'mark'; readonly producer: number; readonly epoch?: number; readonly coordinatorEpoch: number; readonly count: number }

export type PartitionRequest =
  | { readonly kind: 'append'; readonly bytes: Buffer }
  | { readonly kind: 'mark'; readonly marker: Marker; readonly count: number }

const producer = fc.integer({ min: 1, max: 2 })
const append = (fault: fc.Arbitrary<(typeof FAULTS)[number]>, required: ('kind' | 'records' | 'producer' | 'fault')[]) =>
  fc.record(
    {
      kind: fc.constant('append' as const),
      producer,
      epoch: fc.constantFrom(-1, 1),
      sequence: fc.constantFrom('zero' as const, -1, 1, 7),
      records: fc.integer({ min: 1, max: 4 }),
      codec: fc.constantFrom('gzip', 'snappy', 'snappy-raw', 'lz4', 'lz4-stored', 'zstd', 'zstd-stored'),
      fault,
    },
    { requiredKeys: required },
  )
const right: fc.Arbitrary<RequestPlan> = fc.record({
  kind: fc.constant('append' as const),
  producer,
  records: fc.integer({ min: 1, max: 3 }),
})

/** Requests as clients send them and as they should not. */
export const requestPlans: fc.Arbitrary<RequestPlan[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: right },
    { weight: 3, arbitrary: append(fc.constantFrom(...FAULTS), ['kind', 'records']) },
    { weight: 2, arbitrary: append(fc.constantFrom(...FAULTS), ['kind', 'records', 'fault']) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('again' as const), back: fc.nat(7) }) },
    {
      weight: 3,
      arbitrary: fc.record(
        {
          kind: fc.constant('mark' as const),
          producer,
          epoch: fc.constantFrom(-1, 1),
          coordinatorEpoch: fc.nat(3),
          count: fc.integer({ min: 1, max: 3 }),
        },
        { requiredKeys: ['kind', 'producer', 'coordinatorEpoch', 'count'] },
      ),
    },
  ),
  { minLength: 1, maxLength: 25, size: 'max' },
)

const NOW = 1_700_000_000_000n

/** Makes requests of plans, one after the other: `landed` must be told of each that the partition took. */
export class RequestMaker {
  private readonly sent: Buffer[] = []
  private readonly producers = new Map<number, { epoch: number; sequence: number }>()
  private made = 0

  next(plan: RequestPlan): { readonly request: PartitionRequest; landed(): void } | undefined {
    if (plan.kind === 'again') {
      const bytes = this.sent.at(-1 - plan.back)
      return bytes === undefined ? undefined : { request: { kind: 'append', bytes }, landed: () => {} }
    }
    const state = this.stateOf(plan.producer ?? 0)
    const epoch = Math.max(0, state.epoch + (plan.epoch ?? 0))
    if (plan.kind === 'mark') {
      const marker = { producerId: idOf(plan.producer), producerEpoch: epoch, coordinatorEpoch: plan.coordinatorEpoch }
      const landed = () => {
        Object.assign(state, epoch === state.epoch && state.sequence !== START ? {} : { epoch, sequence: 0 })
      }
      return { request: { kind: 'mark', marker, count: plan.count }, landed }
    }
    const sequence = plan.sequence === 'zero' ? 0 : wrapped(state.sequence + (plan.sequence ?? 0))
    const bytes = this.batchOf(plan, epoch, sequence)
    this.sent.push(bytes)
    return { request: { kind: 'append', bytes }, landed: () => Object.assign(state, { epoch, sequence: wrapped(sequence + plan.records) }) }
  }

  private stateOf(producer: number) {
    const state = this.producers.get(producer) ?? { epoch: 1, sequence: START }
    this.producers.set(producer, state)
    return state
  }

  private batchOf(
    { records: count, codec, fault, producer }: RequestPlan & { kind: 'append' },
    producerEpoch: number,
    baseSequence: number,
  ) {
    const records = Array.from({ length: count }, (_, i) => [i, this.record()] as [number, LogRecord])
    const batch: WrittenBatch = {
      baseOffset: 0n,
      records,
      lastOffsetDelta: count - 1,
      codec,
      ...(producer === undefined ? {} : { producerId: idOf(producer), producerEpoch, baseSequence }),
    }
    const last = records.at(-1)!
    switch (fault) {
      case undefined:
        return writeBatch(batch)
      case 'base offset above 0':
        return writeBatch({ ...batch, baseOffset: 4n })
      case 'control bit':
        return writeBatch({ ...batch, control: true, records: [[0, markerRecord(true, NOW)]], lastOffsetDelta: 0 })
      case 'transactional bit':
        return writeBatch({ ...batch, transactional: true, producerId: idOf(producer ?? 1), producerEpoch, baseSequence })
      case 'wrong CRC': {
        const bytes = writeBatch(batch)
        bytes[20]! ^= 1
        return bytes
      }
      case 'no records':
        return writeBatch({ ...batch, records: [] })
      case 'count above its records':
        return writeBatch({ ...batch, count: count + 1, lastOffsetDelta: count })
      case 'last offset beyond its records':
        return writeBatch({ ...batch, lastOffsetDelta: count })
      // Brokers take these two from whoever does not compress.
      case 'offset left out':
        last[0]++
        return writeBatch({ ...batch, codec: codec ?? 'gzip' })
      case 'offset twice':
        return writeBatch({ ...batch, codec: codec ?? 'gzip', records: [...records, last], lastOffsetDelta: count })
      case 'no sequence':
        return writeBatch({ ...batch, producerId: idOf(producer ?? 1), producerEpoch, baseSequence: -1 })
      case 'old format':
        return writeOldMessages({ magic: 1, records: [[0n, this.record()]], codec: 'none' })[0]!
      case 'too large':
        records[0]![1] = { ...records[0]![1], value: noise(2_000) }
        return writeBatch(batch)
      case 'null key':
        last[1] = { ...last[1], key: null }
        return writeBatch(batch)
      case 'far future':
        last[1] = { ...last[1], timestamp: 253_402_300_799_999n }
        return writeBatch(batch)
    }
  }

  private record(): LogRecord {
    const made = this.made++
    const headers = made % 3 === 0 ? ([[Buffer.from('h'), null]] as const) : []
    return { timestamp: NOW + BigInt(made), key: Buffer.from(`k${made}`), value: Buffer.from(`v${made}`.repeat(1 + (made % 9))), headers }
  }
}

/** Sequences begin shortly before they wrap. */
const START = 2 ** 31 - 6
const wrapped = (sequence: number) => (sequence + 2 ** 31) % 2 ** 31
const idOf = (producer: number) => 7_000n + BigInt(producer)
const noise = (size: number) => Buffer.from(Array.from({ length: size }, (_, i) => (i * i * 31 + (i >> 3) * 7) & 0xff))
