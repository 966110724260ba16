import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KafkaBroker } from '../../src/playground/kafka-broker.js'

const CHECKPOINTS = ['recovery-point-offset-checkpoint', 'replication-offset-checkpoint', 'log-start-offset-checkpoint']

/**
 * Shifts the log of a partition on a stopped broker, so that its first offset becomes `start`: the quick way to logs that
 * begin beyond 2^31. Records keep everything but their offsets. The broker recovers the rest (indexes, producer state,
 * high watermark) at its next start.
 *
 * @throws Error when the broker runs
 */
export async function raiseLogStart(broker: KafkaBroker, topic: string, partition: number, start: bigint): Promise<void> {
  if (broker.running) throw new Error('Stop the broker first: its log is about to be rewritten')
  const logs = join(broker.dataDir, 'logs')
  const folder = join(logs, `${topic}-${partition}`)
  const segments = (await readdir(folder)).filter((file) => file.endsWith('.log')).sort()
  const shift = start - BigInt(segments[0]!.slice(0, -'.log'.length))
  // From the end of the way, so that no new name is one that is still in use.
  for (const segment of shift > 0n ? segments.reverse() : segments) await shiftSegment(folder, segment, shift)
  await removeDerived(folder)
  await shiftEpochs(join(folder, 'leader-epoch-checkpoint'), shift, start)
  for (const checkpoint of CHECKPOINTS) await forget(join(logs, checkpoint), topic, partition)
  // Makes the broker recover all logs: without it, it would trust checkpoints that are gone.
  await rm(join(logs, '.kafka_cleanshutdown'), { force: true })
}

/**
 * Puts a hand-made log in the place of a partition's on a stopped broker: for what brokers only have after months, or from versions
 * before theirs. All of it goes into one segment; the broker recovers the rest at its next start.
 *
 * @param start the log's first offset, not above the first batch's
 * @throws Error when the broker runs
 */
export async function plantLog(broker: KafkaBroker, topic: string, partition: number, start: bigint, log: Buffer): Promise<void> {
  if (broker.running) throw new Error('Stop the broker first: its log is about to be rewritten')
  const logs = join(broker.dataDir, 'logs')
  const folder = join(logs, `${topic}-${partition}`)
  for (const file of await readdir(folder)) if (file.endsWith('.log')) await rm(join(folder, file))
  await writeFile(join(folder, segmentName(start)), log)
  await removeDerived(folder)
  for (const checkpoint of CHECKPOINTS) await forget(join(logs, checkpoint), topic, partition)
  await rm(join(logs, '.kafka_cleanshutdown'), { force: true })
}

const segmentName = (start: bigint) => `${start.toString().padStart(20, '0')}.log`

/** Adds `shift` to the base offset of every batch (it lies outside the batch's CRC) and to the file's name. */
async function shiftSegment(folder: string, name: string, shift: bigint): Promise<void> {
  const path = join(folder, name)
  const bytes = await readFile(path)
  // Preallocated files end in zeros: a size of zero ends the log.
  for (let at = 0; at + 12 <= bytes.length && bytes.readInt32BE(at + 8) > 0; at += 12 + bytes.readInt32BE(at + 8)) {
    bytes.writeBigInt64BE(bytes.readBigInt64BE(at) + shift, at)
  }
  await writeFile(path, bytes)
  const base = BigInt(name.slice(0, -'.log'.length)) + shift
  await rename(path, join(folder, segmentName(base)))
}

async function removeDerived(folder: string): Promise<void> {
  for (const file of await readdir(folder)) {
    if (/\.(index|timeindex|txnindex|snapshot)$/.test(file)) await rm(join(folder, file))
  }
}

/** Lines are version, count, then `epoch startOffset` each. */
async function shiftEpochs(path: string, shift: bigint, start: bigint): Promise<void> {
  const [version, count, ...entries] = (await readFile(path, 'utf8')).trim().split('\n')
  const shifted = entries.map((entry) => {
    const [epoch, offset] = entry.split(' ')
    const moved = BigInt(offset!) + shift
    return `${epoch} ${moved > start ? moved : start}`
  })
  await writeFile(path, `${[version, count, ...shifted].join('\n')}\n`)
}

/** Lines are version, count, then `topic partition offset` each. */
async function forget(path: string, topic: string, partition: number): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return
  const [version, , ...entries] = text.trim().split('\n')
  const kept = entries.filter((entry) => !entry.startsWith(`${topic} ${partition} `))
  await writeFile(path, `${[version, String(kept.length), ...kept].join('\n')}\n`)
}
