import { setTimeout as delay } from 'node:timers/promises'
import { MirrorError } from '../../mirror/errors.js'
import { spelled } from '../../mirror/spelled.js'
import { liveRunners } from '../runners.js'
import { type BothClusters, readBounds } from './bounds.js'
import type { DifferenceBook } from './partition-findings.js'
import { lagsAtStart, type PlannedPartition } from './plan.js'
import type { TopicPair } from './topic-pairs.js'

/** Runners move the destination's log start every five seconds. */
const PATIENCE_MS = 12_000
const LOOK_EVERY_MS = 500

export interface ComparedPartition extends PlannedPartition {
  readonly pair: TopicPair
  readonly book: DifferenceBook
}

/**
 * Looks again at partitions whose destination began below the source's start: a runner that copies them moves it up soon, and
 * if it does not that is a difference. Where nobody copies it is only said.
 */
export async function checkStarts(clusters: BothClusters, compared: readonly ComparedPartition[], signal: AbortSignal): Promise<string[]> {
  const late = compared.filter(({ pair, job }) => lagsAtStart(pair, job.bounds))
  if (late.length === 0) return []
  const runners = await liveRunners(clusters.destination).catch(() => 0)
  const followed = late.filter(({ pair, job }) => runners > 0 && pair.statuses.get(job.partition)?.state === 'MIRRORING')
  let behind = followed
  const deadline = performance.now() + PATIENCE_MS
  while (behind.length > 0) {
    behind = await stillBehind(clusters, behind)
    if (behind.length === 0 || performance.now() > deadline) break
    await delay(LOOK_EVERY_MS, undefined, { signal })
  }
  for (const { job, book } of behind) {
    const { destinationStart, sourceStart } = job.bounds
    book.add('start', destinationStart, () => `the destination's log starts here, the source's at offset ${sourceStart}`)
  }
  const names = late.filter((one) => !followed.includes(one)).map(({ job }) => `${job.topic}-${job.partition}`)
  if (names.length === 0) return []
  return [`${spelled(names, 3)}: the source's log starts later by now, and no runner is copying to move the destination's start`]
}

async function stillBehind(clusters: BothClusters, compared: readonly ComparedPartition[]): Promise<ComparedPartition[]> {
  const bounds = await readBounds(
    clusters,
    compared.map(({ job }) => job),
  )
  return compared.filter(({ job }, i) => {
    const now = bounds[i]!
    return now instanceof MirrorError || now.destinationStart < job.bounds.sourceStart
  })
}
