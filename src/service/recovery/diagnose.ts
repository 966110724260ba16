import { recoverCommand, seeWhatDiffers } from '../../engine/alignment.js'
import { idsDiffer } from '../../protocol/uuid.js'
import type { RecoveredPartition } from '../types.js'
import type { PartitionFacts } from './examine.js'

/** Which ways out the operator allows. */
export interface Allowed {
  readonly onGap: boolean
  readonly onDivergence: boolean
}

type Verdict = Pick<RecoveredPartition, 'problem' | 'action' | 'needs' | 'explanation'>

interface Row {
  readonly problem: RecoveredPartition['problem']
  when(f: PartitionFacts): boolean
  decide(f: PartitionFacts, allowed: Allowed): Omit<Verdict, 'problem'>
}

const isFailed = (f: PartitionFacts) => f.status?.state === 'FAILED'
const isNew = ({ status, destination }: PartitionFacts) =>
  (status?.sourceLeaderEpochs.length ?? 0) === 0 && destination!.logStartOffset === destination!.logEndOffset
const isFastForwarding = ({ status, destination }: PartitionFacts) =>
  status?.fastForward?.done === false && destination!.logEndOffset < status.fastForward.target

const COPIED_AGAIN =
  'the whole topic is copied again from the start, and positions that consumers have committed here refer to the new copy then'

/** A difference needs the topic to be copied again. */
const reseed = (why: string, { onDivergence }: Allowed): Omit<Verdict, 'problem'> =>
  onDivergence
    ? { action: 'reseed', needs: undefined, explanation: `${why}; ${COPIED_AGAIN}` }
    : { action: 'none', needs: 'on-divergence', explanation: `${why}; with --on-divergence reseed ${COPIED_AGAIN}` }

const retry = (explanation: string): Omit<Verdict, 'problem'> => ({ action: 'retry', needs: undefined, explanation })

function gap(f: PartitionFacts, allowed: Allowed): Omit<Verdict, 'problem'> {
  const lost = lostRange(f)!
  const what = `offsets ${lost.from} to ${lost.to} are no longer on the source`
  if (f.onGap === 'record') return retry(`${what}; the mirror goes on without them (mirror.on.gap=record)`)
  if (allowed.onGap) return { action: 'record-gap', needs: undefined, explanation: `${what}; the partition goes on without them` }
  return { action: 'none', needs: 'on-gap', explanation: `${what}; to go on without them: ${recoverCommand(f, '--on-gap record')}` }
}

/** What its runner said, without its advice to run what is being run. */
function lastWords(f: PartitionFacts): string | undefined {
  const advice = [seeWhatDiffers(f), `To go on without them: ${recoverCommand(f, '--on-gap record')}`]
  return advice.reduce((text, part) => text?.replace(part, ''), f.status?.error?.message)?.replace(/[.\s]+$/, '')
}

function divergence(f: PartitionFacts): string {
  const { logEndOffset } = f.destination!
  const beyond = logEndOffset > f.source!.highWatermark ? `, which ends at ${f.source!.highWatermark}` : ''
  return `from offset ${f.differsFrom} up to its end at ${logEndOffset} the destination does not hold what the source holds${beyond}`
}

/** First match wins. */
export const DIAGNOSES: readonly Row[] = [
  {
    problem: 'unfinished',
    when: (f) => f.spec.reseed !== undefined,
    decide: (_, allowed) => reseed('copying the topic again was begun and is not finished', allowed),
  },
  {
    problem: 'unknown',
    when: (f) => f.unseen !== undefined,
    decide: (f) => retry(`the logs cannot be compared: ${f.unseen}`),
  },
  {
    problem: 'source-missing',
    when: (f) => f.source === undefined,
    decide: () => ({
      action: 'none',
      needs: undefined,
      explanation: 'the source has no such partition any more; remove the topic from the mirror to keep what is here',
    }),
  },
  {
    problem: 'destination-missing',
    when: (f) => f.destination === undefined,
    decide: (_, allowed) => reseed('the topic is gone from the destination', allowed),
  },
  {
    problem: 'source-recreated',
    when: (f) => idsDiffer(f.source!.topicId, f.spec.sourceTopicId),
    decide: (_, allowed) => reseed('the topic was deleted and created again on the source', allowed),
  },
  {
    problem: 'destination-recreated',
    when: (f) =>
      idsDiffer(f.destination!.topicId, f.status?.destinationTopicId ?? f.spec.destinationTopicId) && f.destination!.logEndOffset > 0n,
    decide: (_, allowed) => reseed('the topic was deleted and created again on the destination, and holds data of its own', allowed),
  },
  {
    problem: 'divergence',
    when: (f) => f.differsFrom !== undefined,
    decide: (f, allowed) => reseed(divergence(f), allowed),
  },
  {
    problem: 'gap',
    when: (f) => f.destination!.logEndOffset < f.source!.firstOffset && !isNew(f) && !isFastForwarding(f),
    decide: gap,
  },
  {
    problem: 'other',
    when: isFailed,
    decide: (f) => retry(`both logs agree, so the partition is tried again: ${lastWords(f) ?? 'its runner did not say why it failed'}`),
  },
]

/** Both ends included. */
function lostRange({ source, destination }: PartitionFacts): { from: bigint; to: bigint } | undefined {
  if (source === undefined || destination === undefined || destination.logEndOffset >= source.firstOffset) return undefined
  return { from: destination.logEndOffset, to: source.firstOffset - 1n }
}

/** What is wrong with a partition and what is done about it; undefined when nothing is. */
export function diagnose(f: PartitionFacts, allowed: Allowed): RecoveredPartition | undefined {
  const row = DIAGNOSES.find((candidate) => candidate.when(f))
  if (row === undefined) return undefined
  const verdict = row.decide(f, allowed)
  const logEndOffset = f.destination?.logEndOffset
  const isDifferent = f.differsFrom !== undefined && logEndOffset !== undefined && row.problem !== 'gap'
  return {
    mirror: f.mirror,
    topic: f.topic,
    partition: f.partition,
    state: f.status?.state ?? 'LOG_ALIGNMENT',
    error: f.status?.error?.message,
    problem: row.problem,
    wanted: logEndOffset,
    available: f.source?.firstOffset,
    sourceOffset: f.source?.highWatermark,
    lost: row.problem === 'gap' ? lostRange(f) : undefined,
    differsFrom: isDifferent ? f.differsFrom : undefined,
    divergedOffsets: isDifferent ? logEndOffset - f.differsFrom! : undefined,
    divergedRecords: isDifferent ? f.tail?.records : undefined,
    divergedRecordsComplete: isDifferent ? (f.tail?.complete ?? false) : true,
    ...verdict,
  }
}
