import type { Connection } from '../client/connection.js'
import { least } from '../mirror/offsets.js'
import { Produce } from '../protocol/api/produce.js'
import { At, buildFiller, fillerCountFor, nextSequence, patchForAppend } from '../records/index.js'
import { appendAnswer } from './append-answers.js'
import { LostPlace, PartitionFailure } from './errors.js'

const MAX_IN_FLIGHT = 4
/** Offsets between two DeleteRecords: what the destination's disk holds meanwhile is about 1.4 bytes each. */
const DELETE_EVERY = 20_000_000n

export interface FastForwardPort {
  readonly connection: Connection
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly nextSequence: number
  /** False while the leader has no state of the producer. It takes any sequence then, so one batch goes ahead alone. */
  readonly producerKnown: boolean
  readonly maxMessageBytes: number
  /** Timestamp of the filler records, milliseconds since the epoch. */
  readonly timestamp: bigint
  readonly mayAppend: () => boolean
  deleteRecords(before: bigint): Promise<void>
  /** Called as the log end moves. */
  progress(logEndOffset: bigint): void
}

/**
 * Moves the destination's log end from `from` to `target` with compressed batches of empty records, the log start
 * following, so that the next append gets the source's offset. Uses the partition's own producer id and sequence: a
 * second run at the same position cannot append twice. Interrupted anywhere it is simply begun again at the log end.
 *
 * @throws PartitionFailure when the destination puts a batch elsewhere; any other error means "read the log end again".
 */
export async function fastForward(port: FastForwardPort, from: bigint, target: bigint): Promise<void> {
  const largest = fillerCountFor(port.maxMessageBytes)
  const template = target - from > BigInt(largest) ? buildFiller(largest, fillerIdentity(port, 0)) : undefined
  const inFlight = new Set<Promise<void>>()
  let position = from
  let sequence = port.nextSequence
  let failure: unknown
  let deletedBefore = from
  while (position < target && failure === undefined) {
    if (!port.mayAppend()) throw new LostPlace()
    const count = Number(least(BigInt(largest), target - position))
    const batch = batchOf(count, largest, template, port, sequence)
    const sent = append(port, batch, position, count).then(
      () => {},
      (error) => {
        failure ??= error
      },
    )
    const tracked: Promise<void> = sent.finally(() => inFlight.delete(tracked))
    inFlight.add(tracked)
    position += BigInt(count)
    sequence = nextSequence(sequence, count)
    const first = position === from + BigInt(count)
    if (inFlight.size >= (first && !port.producerKnown ? 1 : MAX_IN_FLIGHT)) await Promise.race(inFlight)
    if (position - deletedBefore >= DELETE_EVERY) {
      await Promise.all(inFlight)
      if (failure !== undefined) break
      await port.deleteRecords(position)
      deletedBefore = position
    }
    port.progress(position)
  }
  await Promise.all(inFlight)
  if (failure !== undefined) throw failure
  await port.deleteRecords(target)
}

const fillerIdentity = (port: FastForwardPort, baseSequence: number) => ({
  producerId: port.producerId,
  producerEpoch: port.producerEpoch,
  baseSequence,
  timestamp: port.timestamp,
})

/** The template's records are shared between requests in flight; its header is copied, since each has its own sequence. */
function batchOf(count: number, largest: number, template: Buffer | undefined, port: FastForwardPort, sequence: number): Buffer[] {
  if (template === undefined || count !== largest) return [buildFiller(count, fillerIdentity(port, sequence))]
  const { producerId, producerEpoch } = port
  patchForAppend(template, { producerId, producerEpoch, baseSequence: sequence })
  return [Buffer.from(template.subarray(0, At.records)), template.subarray(At.records)]
}

async function append(port: FastForwardPort, records: Buffer[], expected: bigint, count: number): Promise<void> {
  const response = await port.connection.send(Produce, {
    acks: -1,
    timeoutMs: 30_000,
    topicData: [{ name: port.topic, topicId: port.topicId, partitionData: [{ index: port.partition, records }] }],
  })
  const answer = response.responses[0]?.partitionResponses[0]
  if (answer === undefined) throw new Error('the Produce answer lacks the partition')
  const meaning = appendAnswer(answer.errorCode)
  if (meaning === 'refused' || meaning === 'too-large')
    throw new PartitionFailure(`the destination refuses filler of ${count} offsets: ${answer.errorMessage ?? answer.errorCode}`)
  if (meaning !== 'landed') throw new Error(`fast-forward at offset ${expected}: ${answer.errorMessage ?? `error ${answer.errorCode}`}`)
  if (answer.baseOffset !== expected) {
    throw new PartitionFailure(
      `the destination put filler of offset ${expected} at ${answer.baseOffset}: something else writes to ${port.topic}-${port.partition} there`,
    )
  }
}
