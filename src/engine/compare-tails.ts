import type { Cluster } from '../client/cluster.js'
import { Fetch } from '../protocol/api/fetch.js'
import { kafkaError } from '../protocol/errors.js'
import { isControl, scanBatches } from '../records/index.js'
import { decodeRecords } from '../records/record-codec.js'
import { PartitionFailure } from './errors.js'

/** How far back from the destination's end the logs are compared. */
const COMPARED_OFFSETS = 1_000n
const MAX_BYTES = 8 << 20

/**
 * Compares the last records of the destination with the source's at the same offsets, before data that this mirror did
 * not copy is trusted. Offsets that show consumers nothing on the source may hold anything invisible on the destination.
 *
 * @throws PartitionFailure naming the first offset that differs; KafkaError.
 */
export async function compareTails(
  source: Cluster,
  destination: Cluster,
  topic: string,
  partition: number,
  ids: { readonly source: string; readonly destination: string },
  from: bigint,
  end: bigint,
): Promise<void> {
  const start = end - from > COMPARED_OFFSETS ? end - COMPARED_OFFSETS : from
  const [there, here] = await Promise.all([
    visibleRecords(source, topic, ids.source, partition, start, end),
    visibleRecords(destination, topic, ids.destination, partition, start, end),
  ])
  for (const offset of [...new Set([...there.keys(), ...here.keys()])].sort((a, b) => (a < b ? -1 : 1))) {
    if (there.get(offset) === here.get(offset)) continue
    throw new PartitionFailure(
      `${topic}-${partition}: the destination's record at offset ${offset} is not the source's: the topic holds data that was not mirrored from there`,
    )
  }
}

/** offset → a text that is equal for equal records. */
async function visibleRecords(
  cluster: Cluster,
  topic: string,
  topicId: string,
  partition: number,
  from: bigint,
  end: bigint,
): Promise<Map<bigint, string>> {
  const seen = new Map<bigint, string>()
  for (let position = from; position < end; ) {
    const response = await cluster.leader(topic, partition, Fetch, {
      maxWaitMs: 100,
      minBytes: 1,
      maxBytes: MAX_BYTES,
      isolationLevel: 1,
      topics: [{ topic, topicId, partitions: [{ partition, fetchOffset: position, partitionMaxBytes: MAX_BYTES }] }],
    })
    const answer = response.responses[0]?.partitions[0]
    if (answer === undefined) throw new Error(`the Fetch answer lacks ${topic}-${partition}`)
    if (answer.errorCode !== 0) throw kafkaError(answer.errorCode)
    let next = position
    for (const batch of scanBatches(answer.records)) {
      next = batch.header.baseOffset + BigInt(batch.header.lastOffsetDelta + 1)
      if (isControl(batch.header)) continue
      for (const record of decodeRecords(batch)) {
        if (record.offset < from || record.offset >= end) continue
        const { key, value, headers, timestamp } = record
        seen.set(
          record.offset,
          JSON.stringify([text(key), text(value), String(timestamp), headers.map(([name, bytes]) => [name, text(bytes)])]),
        )
      }
    }
    if (next === position) break
    position = next
  }
  return seen
}

const text = (bytes: Buffer | null) => bytes?.toString('base64') ?? null
