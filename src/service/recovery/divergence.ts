import { ascending, least, most } from '../../mirror/offsets.js'
import type { OpenRecord } from '../../records/open-records.js'
import { loggedBatches, type PartitionLog, visibleBatches } from './visible-batches.js'

/** Records in offset order, batch by batch; of hidden ones consumers see nothing. */
type Batches = AsyncIterable<{ readonly records: readonly OpenRecord[]; readonly isHidden: boolean }>

export interface Compared {
  /** First offset at which the two differ; undefined if there is none. */
  readonly differsFrom: bigint | undefined
  /** Whether a record, before that, was seen to be equal. */
  readonly afterEqual: boolean
}

/**
 * The first offset whose record differs between two logs: in timestamp, key, value or headers, because only one of them shows
 * it while the other's log holds something there that consumers do not see, or, when `strict`, because only one of them has it
 * at all. Both are read side by side and only as far as needed.
 */
export async function firstDifference(source: Batches, destination: Batches, strict: boolean): Promise<Compared> {
  const [there, here] = [recordsOf(source), recordsOf(destination)]
  try {
    let [ours, theirs] = [await here.next(), await there.next()]
    for (let afterEqual = false; ; ) {
      if (ours.done && theirs.done) return { differsFrom: undefined, afterEqual }
      const order = ours.done ? 1 : theirs.done ? -1 : ascending(ours.value.offset, theirs.value.offset)
      const [mine, other] = [order <= 0 ? (ours.value as Logged) : undefined, order >= 0 ? (theirs.value as Logged) : undefined]
      if (mine !== undefined && other !== undefined ? !isSame(mine, other) : strict && !(mine ?? other)!.isHidden)
        return { differsFrom: (mine ?? other)!.offset, afterEqual }
      // What is hidden in both says nothing about what was copied: anything may lie there.
      if (mine !== undefined && other !== undefined && !mine.isHidden) afterEqual = true
      if (order <= 0) ours = await here.next()
      if (order >= 0) theirs = await there.next()
    }
  } finally {
    await Promise.all([there.return(), here.return()])
  }
}

type Logged = OpenRecord & { readonly isHidden: boolean }

async function* recordsOf(batches: Batches): AsyncGenerator<Logged, void, undefined> {
  for await (const { records, isHidden } of batches) for (const record of records) yield { ...record, isHidden }
}

const isSame = (a: Logged, b: Logged) =>
  a.isHidden || b.isHidden ? a.isHidden === b.isHidden : a.timestamp === b.timestamp && a.content.equals(b.content)

const FIRST_STRETCH = 100n
const GROWTH = 8n

export interface ComparedRange {
  /** The first offset that both logs still have. */
  readonly from: bigint
  /** The last stable offset of the source: nothing above was ever copied. */
  readonly sourceEnd: bigint
  readonly destinationEnd: bigint
  /** False for a compacted topic, of which each side may have lost other records. */
  readonly strict: boolean
}

/**
 * The first offset from which on the destination does not hold what the source holds; undefined if nothing differs. A mirror
 * stops at a difference, so what lies below equal records is equal: the logs are compared from the end backwards, in stretches
 * that grow until they begin with equal records. That costs about what differs, however long the logs are, save where compaction has
 * left nothing on both sides to compare.
 */
export async function findDivergence(source: PartitionLog, destination: PartitionLog, range: ComparedRange): Promise<bigint | undefined> {
  const { from, sourceEnd, destinationEnd, strict } = range
  const end = least(destinationEnd, sourceEnd)
  // What the destination has beyond the source's end is not the source's.
  let found = destinationEnd > sourceEnd ? most(sourceEnd, from) : undefined
  for (let length = FIRST_STRETCH; ; length *= GROWTH) {
    const start = most(end - length, from)
    if (start >= end) return found
    const [there, here] = [source, destination].map((log) => loggedBatches(log, start, end))
    const { differsFrom, afterEqual } = await firstDifference(there!, here!, strict)
    found = differsFrom ?? found
    if (afterEqual || start === from) return found
  }
}

export interface Tail {
  readonly records: number
  /** False when counting was given up: there are at least so many. */
  readonly complete: boolean
}

/** Counts what consumers see of a log from `from` to `end`, reading at most about `maxRecords`. */
export async function countVisible(log: PartitionLog, from: bigint, end: bigint, maxRecords: number): Promise<Tail> {
  let records = 0
  for await (const batch of visibleBatches(log, from, end)) {
    records += batch.records.length
    if (records >= maxRecords) return { records, complete: false }
  }
  return { records, complete: true }
}
