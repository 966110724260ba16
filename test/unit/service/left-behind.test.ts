import { expect, test } from 'vitest'
import type { Cluster, TopicMetadata } from '../../../src/client/cluster.js'
import { MirrorState } from '../../../src/mirror/fold.js'
import { put } from '../../../src/mirror/spec-store.js'
import type { DesiredState } from '../../../src/mirror/state.js'
import { NO_UUID } from '../../../src/protocol/schema.js'
import { leftBehindWarning } from '../../../src/service/reverse/left-behind.js'

/** Mirrors (of this source cluster) with these topics. */
const stateOf = (mirrors: Record<string, { from: string; topics: Record<string, DesiredState>; include?: string }>) =>
  MirrorState.of(
    Object.entries(mirrors).flatMap(([mirror, { from, topics, include }]) => [
      put({ kind: 'mirror', mirror }, { sourceClusterId: from, createdAt: 1 }),
      ...(include === undefined ? [] : [put({ kind: 'config', mirror, key: 'mirror.topics.include' }, { value: include })]),
      ...Object.entries(topics).map(([topic, desired]) =>
        put(
          { kind: 'topic', mirror, topic },
          { desired, sourceTopicId: NO_UUID, destinationTopicId: NO_UUID, partitions: 0, producers: [], held: {}, addedAt: 1 },
        ),
      ),
    ]),
  )

const topicOf = (name: string): TopicMetadata => ({
  errorCode: 0,
  name,
  topicId: NO_UUID,
  internal: name.startsWith('__'),
  partitions: [],
})

test('what either mirror had, has another one, comes from here or is the cluster’s own is not left behind', () => {
  const names = ['new', 'first', 'here', 'begun', 'others', 'circle', 'x.diverged-20260101T000000000Z', '__consumer_offsets']
  const there = stateOf({
    m: { from: 'A', topics: { first: 'STOPPED' }, include: '.*' },
    again: { from: 'A', topics: { circle: 'MIRRORING' } },
  })
  const here = stateOf({
    m: { from: 'B', topics: { here: 'STOPPED', begun: 'ADDING' } },
    other: { from: 'C', topics: { others: 'MIRRORING' } },
  })
  const sides = {
    source: { name: 'b:9092' } as Cluster,
    destination: { name: 'a:9092' } as Cluster,
    sourceTopics: new Map(names.map((name) => [name, topicOf(name)])),
    sourceState: there,
    destinationClusterId: 'A',
  }
  expect(leftBehindWarning(there.mirror('m')!, here, sides)).toEqual([
    '2 topic(s) of b:9092 that the patterns of mirror m match are in neither mirror and are not copied back: begun, new; kafka-mirrors add --bootstrap-server a:9092 --mirror m --topic begun,new takes them',
  ])
  const without = stateOf({ m: { from: 'A', topics: { first: 'STOPPED' } } })
  expect(leftBehindWarning(without.mirror('m')!, here, sides)).toEqual([])
})
