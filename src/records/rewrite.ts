import { type Compression, compressionOf, nextOffset } from './batch.js'
import { type OpenRecord, openRecords } from './open-records.js'
import { type ReEncoding, reEncode } from './re-encode.js'
import type { Batch } from './scan.js'
import type { Step } from './steps.js'

/**
 * The slow path: a batch that can't be copied as it is, opened. The records from `from` on become dense v2 batches in the same
 * codec, none larger than `maxMessageBytes`, and offsets without a record are filled.
 * @throws {CorruptBatchError} where it can't be opened.
 */
export function rewrite(batch: Batch, from: bigint, maxMessageBytes: number): Step[] {
  const { header } = batch
  const { leaderEpoch } = header
  const steps: Step[] = []
  let next = from
  const fillTo = (offset: bigint) => {
    if (offset > next) steps.push({ kind: 'fill', baseOffset: next, count: Number(offset - next), leaderEpoch, why: 'hole' })
    next = offset
  }
  const encoding: ReEncoding = { compression: compressionOf(header) as Exclude<Compression, 'unknown'>, leaderEpoch }
  for (const run of runsOf(openRecords(batch), from)) {
    fillTo(run[0]!.offset)
    for (const { bytes, count } of reEncode(run, encoding, maxMessageBytes)) {
      const size = bytes.length
      if (size > maxMessageBytes) {
        const reason = `the source's record at offset ${next} takes ${size} bytes as a batch of its own, more than the destination topic's max.message.bytes=${maxMessageBytes}: raise it there`
        steps.push({ kind: 'refuse', baseOffset: next, reason })
        return steps
      }
      steps.push({ kind: 'append', bytes, batches: 1, rewritten: true, baseOffset: next, count, size, leaderEpoch })
      next += BigInt(count)
    }
  }
  fillTo(nextOffset(header))
  return steps
}

/** Records from `from` on in rows without holes. */
function* runsOf(records: Iterable<OpenRecord>, from: bigint): Generator<OpenRecord[], void, undefined> {
  let run: OpenRecord[] = []
  for (const record of records) {
    if (record.offset < from) continue
    const last = run.at(-1)
    if (last !== undefined && record.offset !== last.offset + 1n) {
      yield run
      run = []
    }
    run.push(record)
  }
  if (run.length > 0) yield run
}
