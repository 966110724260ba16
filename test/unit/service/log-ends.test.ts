import { beforeEach, describe, expect, it } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { ConnectionError } from '../../../src/client/errors.js'
import type { ActiveTopic } from '../../../src/mirror/fold.js'
import { put } from '../../../src/mirror/spec-store.js'
import type { PartitionStatus, TopicSpec } from '../../../src/mirror/state.js'
import { Errors, kafkaError } from '../../../src/protocol/errors.js'
import type { ServiceContext } from '../../../src/service/context.js'
import { recordLogEnds } from '../../../src/service/log-ends.js'
import { ModelStore } from '../../support/model-authorizer.js'

const ID = '00000000-0000-0000-0000-000000000001'
const leaving: ActiveTopic = {
  desired: 'STOPPING',
  stopping: { at: 7 },
  sourceTopicId: ID,
  destinationTopicId: ID,
  partitions: 2,
  producers: [0n, 1n].map((id) => ({ id, epoch: 0 })),
  held: {},
  addedAt: 5,
}
const stopped: PartitionStatus = {
  ownerEpoch: 1,
  addedAt: 5,
  destinationTopicId: ID,
  owner: 'runner',
  state: 'STOPPED',
  since: 1,
  sourceLeaderEpochs: [],
  fillMode: 'markers',
  lostRanges: [],
  stoppedAt: 20n,
  answers: 7,
}

interface OffsetsRequest {
  readonly topics: readonly { readonly name: string; readonly partitions: readonly { readonly partitionIndex: number }[] }[]
}

/** Every log ends at 50. */
const destination = {
  leaderOf: (_topic: string, partition: number) => (leaderless.has(partition) ? undefined : { brokerId: 1, leaderEpoch: 0, topicId: ID }),
  missingLeader: () => kafkaError(Errors.LEADER_NOT_AVAILABLE),
  refresh: async () => {},
  broker: async (_broker: number, _api: object, { topics }: OffsetsRequest) => {
    if (outOfReach) throw new ConnectionError({ kind: 'refused', address: { host: 'lost', port: 9092 }, reason: 'refused' })
    asked += topics.length
    return {
      topics: topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode: failure, offset: 50n, leaderEpoch: 0 })),
      })),
    }
  },
} as unknown as Cluster

let store: ModelStore
/** Topics whose log ends brokers were asked for. */
let asked: number
/** What brokers answer when they are asked for log ends. */
let failure: number
/** Partitions whose only broker is lost. */
let leaderless: Set<number>
/** Whether no broker that leads can be connected to. */
let outOfReach: boolean
beforeEach(async () => {
  asked = 0
  warnings = []
  failure = 0
  leaderless = new Set()
  outOfReach = false
  store = new ModelStore()
  await write(put({ kind: 'mirror', mirror: 'm' }, { sourceClusterId: 'A', createdAt: 1 }))
})

const write = (...records: ReturnType<typeof put>[]) => store.update(() => ({ records, result: undefined }))
const topic = (spec: TopicSpec) => write(put({ kind: 'topic', mirror: 'm', topic: 't' }, spec))
const statuses = (...of: (PartitionStatus | undefined)[]) =>
  write(...of.flatMap((status, partition) => (status ? [put({ kind: 'status', mirror: 'm', topic: 't', partition }, status)] : [])))

let warnings: string[]

/** As a removal of the topic goes by it. */
async function recorded(spec: ActiveTopic = leaving) {
  const context = { destination, store, now: () => 99 } as unknown as ServiceContext
  const result = (await recordLogEnds(context, store.state, 'm', [{ topic: 't', spec }], warnings)).get('t')!
  return result.ok ? result.value : result.error
}

describe('what is put on record of where owners let go', () => {
  it('is their answer to this request, or the log end where nobody ever copied', async () => {
    await topic(leaving)
    await statuses(stopped)
    expect(await recorded()).toEqual({ logEnds: [20n, 50n] })
    expect(store.state.mirror('m')!.topics.get('t')!.stopping).toEqual({ at: 7, logEnds: [20n, 50n] })
  })

  it.each<[string, Partial<PartitionStatus>]>([
    ['an earlier request, before the topic was given back', { answers: 6 }],
    ['no request, by an owner of an older version', { answers: undefined }],
    ['nothing but that the source has lost the topic', { answers: undefined, stoppedAt: undefined }],
    ['this request, that it has to be fenced', { state: 'STOPPING', needsFence: true, stoppedAt: undefined }],
  ])('is that a fence is needed where the owner answered %s', async (_, answer) => {
    await topic(leaving)
    await statuses({ ...stopped, ...answer }, stopped)
    expect(await recorded()).toEqual({ logEnds: [null, 20n] })
  })

  it('stands: what owners say behind a fence counts in its marker and what clients wrote since', async () => {
    await topic(leaving)
    await statuses({ ...stopped, state: 'MIRRORING', answers: undefined, stoppedAt: undefined }, stopped)
    expect(await recorded()).toEqual({ logEnds: [null, 20n] })
    await statuses({ ...stopped, stoppedAt: 31n }, { ...stopped, stoppedAt: 40n })
    const again = store.state.mirror('m')!.topics.get('t') as ActiveTopic
    expect([await recorded(again), await recorded()]).toEqual([{ logEnds: [null, 20n] }, { logEnds: [null, 20n] }])
  })

  it('is asked for once: a broker that is gone holds no removal up that knows already', async () => {
    await topic(leaving)
    expect(await recorded()).toEqual({ logEnds: [50n, 50n] })
    expect(asked).toBe(1)
    expect(await recorded()).toEqual({ logEnds: [50n, 50n] })
    expect(asked).toBe(1)
  })

  it('is not believed once a reseed may have replaced the copy it is about: the logs are asked, and nothing is where there are none', async () => {
    const reseed = { at: 6, tailTopic: undefined, kept: true }
    await topic({ ...leaving, stopping: { at: 7, logEnds: [100n, null] }, reseed })
    await statuses(stopped, stopped)
    const ends = [0, 1].map((partition) => ({ partition, logEndOffset: 50n }))
    expect(await recorded()).toEqual({ outcome: { how: 'confirmed', partitions: ends } })
    failure = Errors.UNKNOWN_TOPIC_OR_PARTITION
    expect(await recorded()).toEqual({ outcome: { how: 'confirmed', partitions: [] } })
    failure = Errors.CLUSTER_AUTHORIZATION_FAILED
    expect(await recorded()).toMatchObject({ code: failure })
  })

  it('is not believed where the reseed found something else in place of that copy, and began anew: no fence goes into it', async () => {
    const reseed = { at: 9, tailTopic: 't.diverged-x', kept: false }
    const restarted = { ...leaving, stopping: { at: 7, logEnds: [100n, null] }, reseed }
    await topic(restarted)
    await statuses(stopped, stopped)
    const ends = [0, 1].map((partition) => ({ partition, logEndOffset: 50n }))
    expect(await recorded()).toEqual({ outcome: { how: 'confirmed', partitions: ends } })
    expect(store.state.mirror('m')!.topics.get('t')).toEqual(restarted)
  })

  it('lacks a partition that cannot be asked, maybe for good, once nobody copies into it: the others are removed', async () => {
    await topic({ ...leaving, stopping: { at: 7, logEnds: [100n, null] }, reseed: { at: 7, tailTopic: undefined, kept: true } })
    const outcome = (...partitions: number[]) => ({
      outcome: { how: 'confirmed', partitions: partitions.map((partition) => ({ partition, logEndOffset: 50n })) },
    })
    leaderless.add(1)
    expect(await recorded()).toEqual(outcome(0))
    expect(warnings).toEqual([expect.stringContaining('partition 1 of topic t')])
    leaderless.clear()
    outOfReach = true
    expect(await recorded()).toEqual(outcome())
    expect(warnings).toEqual([1, 0, 1].map((partition) => expect.stringContaining(`partition ${partition} of topic t`)))
  })

  it('is what owners said while a reseed waits for them, whichever version began it', async () => {
    await topic({ ...leaving, reseed: { at: 7, tailTopic: undefined, kept: false } })
    await statuses(stopped, stopped)
    for (const _ of ['first', 'again']) expect(await recorded()).toEqual({ logEnds: [20n, 20n] })
    const { stopping: _, ...older } = { ...leaving, reseed: { at: 8, tailTopic: undefined, kept: false } }
    await topic(older)
    await recorded(older)
    const again = store.state.mirror('m')!.topics.get('t') as ActiveTopic
    expect(await recorded(again)).toEqual({ logEnds: [null, null] })
  })

  it('is that everything has to be fenced, as far as it is not, where an older version began', async () => {
    const { stopping: _, ...older } = leaving
    await topic(older)
    await statuses({ ...stopped, answers: undefined })
    expect(await recorded(older)).toEqual({ logEnds: [null, null] })
    expect(store.state.mirror('m')!.topics.get('t')!.stopping).toEqual({ at: 99, logEnds: [null, null] })
  })

  it('is the outcome where another command was done first, and nothing where the topic goes on', async () => {
    const removed = { how: 'fenced' as const, at: 9, partitions: [] }
    await topic({ ...leaving, desired: 'STOPPED', stopping: undefined })
    await write(put({ kind: 'result', mirror: 'm', topic: 't' }, removed))
    expect(await recorded()).toEqual({ outcome: removed })
    for (const other of [
      { ...leaving, desired: 'MIRRORING' as const, stopping: undefined },
      { ...leaving, stopping: { at: 8 } },
      { ...leaving, addedAt: 6 },
    ]) {
      await topic(other)
      expect(await recorded()).toMatchObject({ code: 'CONFLICT' })
      expect(store.state.mirror('m')!.topics.get('t')).toEqual({ ...other, stopping: other.stopping })
    }
  })
})
