import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KafkaBroker } from '../../src/playground/kafka-broker.js'
import { eventually } from './wait.js'

/** A batch's header as it lies on a broker's disk. */
export interface StoredBatch {
  readonly baseOffset: bigint
  readonly lastOffset: bigint
  readonly magic: number
  readonly codec: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
  /** Records that are left; 1 for a message of magic 0 or 1, compressed or not. */
  readonly count: number
  readonly size: number
  readonly control: boolean
  readonly deleteHorizon: boolean
}

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const

/** The batches of a partition in the order of the log, read from the broker's files. */
export async function storedBatches(broker: KafkaBroker, topic: string, partition = 0): Promise<StoredBatch[]> {
  const folder = folderOf(broker, topic, partition)
  const batches: StoredBatch[] = []
  for (const segment of await segmentsOf(folder)) batches.push(...batchesOf(await readFile(join(folder, segment))))
  return batches
}

const folderOf = (broker: KafkaBroker, topic: string, partition: number) => join(broker.dataDir, 'logs', `${topic}-${partition}`)
const segmentsOf = async (folder: string) => (await readdir(folder)).filter((file) => file.endsWith('.log')).sort()

function* batchesOf(bytes: Buffer): Generator<StoredBatch> {
  // Preallocated files end in zeros.
  for (let at = 0; at + 26 <= bytes.length && bytes.readInt32BE(at + 8) > 0; at += 12 + bytes.readInt32BE(at + 8)) {
    const baseOffset = bytes.readBigInt64BE(at)
    const size = 12 + bytes.readInt32BE(at + 8)
    const magic = bytes[at + 16]!
    const attributes = magic < 2 ? bytes[at + 17]! : bytes.readInt16BE(at + 21)
    const common = { baseOffset, magic, size, codec: CODECS[attributes & 7]! }
    if (magic < 2) yield { ...common, lastOffset: baseOffset, count: 1, control: false, deleteHorizon: false }
    else {
      const lastOffset = baseOffset + BigInt(bytes.readInt32BE(at + 23))
      const count = bytes.readInt32BE(at + 57)
      yield { ...common, lastOffset, count, control: (attributes & 0x20) !== 0, deleteHorizon: (attributes & 0x40) !== 0 }
    }
  }
}

/**
 * Begins a new segment at the log end of a stopped broker's partition. Brokers never clean the last segment and begin one only for the next
 * record: so that record may be cleaned which is now the last.
 */
export async function rollLog(broker: KafkaBroker, topic: string, partition = 0): Promise<void> {
  if (broker.running) throw new Error('Stop the broker first: its log is about to be changed')
  const last = (await storedBatches(broker, topic, partition)).at(-1)
  if (last === undefined) throw new Error(`${topic}-${partition} is empty`)
  await writeFile(join(folderOf(broker, topic, partition), `${String(last.lastOffset + 1n).padStart(20, '0')}.log`), '', { flag: 'a' })
}

const CLEANER_CHECKPOINT = 'cleaner-offset-checkpoint'

/** Lets a stopped broker clean all logs from their starts again once it runs, as if there were something new in them. */
export async function forgetCleaning(broker: KafkaBroker): Promise<void> {
  if (broker.running) throw new Error('Stop the broker first: it would write its checkpoint when it stops')
  await rm(join(broker.dataDir, 'logs', CLEANER_CHECKPOINT), { force: true })
}

/** Waits until a partition is cleaned up to its last segment. */
export async function cleaned(broker: KafkaBroker, topic: string, partition = 0): Promise<void> {
  const base = BigInt((await segmentsOf(folderOf(broker, topic, partition))).at(-1)!.slice(0, -'.log'.length))
  // Lines are version, count, then `topic partition offset` each.
  const checkpoint = join(broker.dataDir, 'logs', CLEANER_CHECKPOINT)
  await eventually(
    async () => {
      const lines = (await readFile(checkpoint, 'utf8').catch(() => '')).split('\n').map((line) => line.split(' '))
      return lines.some(([name, number, offset]) => name === topic && number === String(partition) && BigInt(offset!) >= base)
    },
    { what: `The cleaning of ${topic}-${partition}`, every: 100 },
  )
}
