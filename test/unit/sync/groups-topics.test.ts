import { expect, it } from 'vitest'
import { Cluster } from '../../../src/client/cluster.js'
import { MirrorState } from '../../../src/mirror/fold.js'
import type { PartitionStatus, TopicSpec } from '../../../src/mirror/state.js'
import { formatKey } from '../../../src/mirror/state-keys.js'
import { encodeValue } from '../../../src/mirror/state-values.js'
import { NO_UUID } from '../../../src/protocol/index.js'
import { type PinnedTopic, pinnedTopics, unchangedTopics } from '../../../src/sync/groups/topics.js'
import { FakeClock } from '../client/fake-clock.js'
import { CONFIG, FakeBrokers, metadata } from '../client/fake-cluster.js'

const id = (n: number) => `00000000-0000-0000-0000-00000000000${n}`

/** A cluster with these topics, by their ids. */
function clusterWith(topics: Record<string, string>) {
  const answer = metadata({ 1: 'one:1' }, Object.fromEntries(Object.keys(topics).map((topic) => [topic, [[1, 0]] as [number, number][]])))
  const described = { ...answer, topics: answer.topics.map((topic) => ({ ...topic, topicId: topics[topic.name] })) }
  return new Cluster(CONFIG, { open: new FakeBrokers(() => described).open, clock: new FakeClock() })
}

const pinned = (source: string, ...destination: readonly string[]): PinnedTopic => ({
  sourceTopicId: source,
  destinationTopicIds: new Set(destination),
})

it('leaves out topics that were made again under the same name on either side, and those that are not there', async () => {
  const source = clusterWith({ same: id(1), there: id(9), here: id(1), rebuilt: id(1), old: NO_UUID, onlyThere: id(1) })
  const destination = clusterWith({ same: id(2), there: id(2), here: id(9), rebuilt: id(3), old: id(2) })
  const known = new Map([
    ['same', pinned(id(1), id(2))],
    ['there', pinned(id(1), id(2))],
    ['here', pinned(id(1), id(2))],
    ['rebuilt', pinned(id(1), id(2), id(3))],
    ['old', pinned(id(1), id(2))],
    ['onlyThere', pinned(id(1), id(2))],
  ])
  const { topics, problems } = await unchangedTopics(source, destination, known)
  expect([...topics]).toEqual(['same', 'rebuilt', 'old'])
  expect(problems).toEqual([
    { item: 'there', message: 'positions in it wait, since the source topic was deleted and made again' },
    { item: 'here', message: 'positions in it wait, since the destination topic was deleted and made again' },
  ])
})

it('knows a destination topic by the id its owner last aligned with, too, if that was of this addition', () => {
  const spec: TopicSpec = {
    desired: 'MIRRORING',
    sourceTopicId: id(1),
    destinationTopicId: id(2),
    partitions: 2,
    producers: [],
    held: {},
    addedAt: 7,
  }
  const status = (destinationTopicId: string, addedAt: number): PartitionStatus => ({
    ownerEpoch: 1,
    addedAt,
    destinationTopicId,
    owner: 'o',
    state: 'MIRRORING',
    since: 0,
    sourceLeaderEpochs: [],
    fillMode: 'markers',
    lostRanges: [],
  })
  const state = MirrorState.of([
    { key: formatKey({ kind: 'mirror', mirror: 'm' }), value: encodeValue('mirror', { sourceClusterId: 'c', createdAt: 0 }) },
    { key: formatKey({ kind: 'topic', mirror: 'm', topic: 't' }), value: encodeValue('topic', spec) },
    { key: formatKey({ kind: 'status', mirror: 'm', topic: 't', partition: 0 }), value: encodeValue('status', status(id(3), 7)) },
    { key: formatKey({ kind: 'status', mirror: 'm', topic: 't', partition: 1 }), value: encodeValue('status', status(id(4), 6)) },
  ])
  expect(pinnedTopics(state.mirror('m')!, ['t', 'unknown'])).toEqual(new Map([['t', pinned(id(1), id(2), id(3))]]))
})
