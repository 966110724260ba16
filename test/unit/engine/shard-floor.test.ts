import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { lowestOwnerEpoch } from '../../../src/engine/shard-floor.js'
import { MirrorState } from '../../../src/mirror/fold.js'
import { SHARDS, shardOf } from '../../../src/mirror/shards.js'
import type { PartitionStatus, TopicSpec } from '../../../src/mirror/state.js'
import { encodeValue } from '../../../src/mirror/state-values.js'
import { Errors } from '../../../src/protocol/errors.js'

const PRODUCER = 70n
const ID = '00000000-0000-0000-0000-000000000000'
const spec: TopicSpec = {
  desired: 'MIRRORING',
  sourceTopicId: ID,
  destinationTopicId: ID,
  partitions: 1,
  producers: [{ id: PRODUCER, epoch: 0 }],
  held: {},
  addedAt: 1,
}
const status: PartitionStatus = {
  ownerEpoch: 4,
  addedAt: 1,
  destinationTopicId: ID,
  owner: 'a',
  state: 'MIRRORING',
  since: 1,
  sourceLeaderEpochs: [],
  fillMode: 'markers',
  lostRanges: [],
}
const shard = shardOf('m', 't', 0, SHARDS)

const stateOf = (topic: TopicSpec = spec) =>
  MirrorState.of([
    { key: 'mirror/m', value: encodeValue('mirror', { sourceClusterId: 'A', createdAt: 1 }) },
    { key: 'topic/m/t', value: encodeValue('topic', topic) },
    { key: 'status/m/t/0', value: encodeValue('status', status) },
  ])

/** A destination whose leader remembers one marker of the producer, or answers with an error. */
const destination = (coordinatorEpoch: number, errorCode = 0) =>
  ({
    leader: async () => ({
      topics: [
        {
          partitions: [
            {
              errorCode,
              errorMessage: null,
              activeProducers: [
                { producerId: 7n, producerEpoch: 0, lastSequence: 0, coordinatorEpoch: 99 },
                { producerId: PRODUCER, producerEpoch: 0, lastSequence: 0, coordinatorEpoch },
              ],
            },
          ],
        },
      ],
    }),
  }) as unknown as Cluster

describe('the first owner epoch of a shard without a committed one', () => {
  it('is above the statuses and the markers of its partitions', async () => {
    expect(await lowestOwnerEpoch(destination(9), stateOf(), shard)).toBe(10)
    expect(await lowestOwnerEpoch(destination(-1), stateOf(), shard)).toBe(5)
    expect(await lowestOwnerEpoch(destination(9), stateOf({ ...spec, desired: 'STOPPED' }), shard)).toBe(5)
    expect(await lowestOwnerEpoch(destination(9), stateOf(), (shard + 1) % SHARDS)).toBe(1)
  })

  it('is far above the statuses where the markers cannot be looked at, save those of a topic that is gone', async () => {
    expect(await lowestOwnerEpoch(destination(9, Errors.NOT_LEADER_OR_FOLLOWER), stateOf(), shard)).toBe(1_005)
    expect(await lowestOwnerEpoch(destination(9, Errors.UNKNOWN_TOPIC_OR_PARTITION), stateOf(), shard)).toBe(5)
  })
})
