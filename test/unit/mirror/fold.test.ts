import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isActive, MirrorState, type StateRecord } from '../../../src/mirror/fold.js'
import type { PartitionStatus, TopicSpec } from '../../../src/mirror/state.js'
import { formatKey, parseKey } from '../../../src/mirror/state-keys.js'
import { decodeValue, encodeValue } from '../../../src/mirror/state-values.js'

const topic: TopicSpec = {
  desired: 'MIRRORING',
  sourceTopicId: '11111111-1111-1111-1111-111111111111',
  destinationTopicId: '22222222-2222-2222-2222-222222222222',
  partitions: 2,
  producers: [
    { id: 9_007_199_254_740_993n, epoch: 0 },
    { id: 2n, epoch: 0 },
  ],
  held: { 'retention.ms': '1000', 'retention.bytes': null },
  addedAt: 5,
}

const status = (ownerEpoch: number, owner = 'a'): PartitionStatus => ({
  ownerEpoch,
  addedAt: 1,
  destinationTopicId: '00000000-0000-0000-0000-000000000000',
  owner,
  state: 'MIRRORING',
  since: 1,
  sourceLeaderEpochs: [{ epoch: 3, startOffset: 1n << 40n }],
  fillMode: 'markers',
  lostRanges: [],
})

const records: StateRecord[] = [
  { key: 'mirror/m', value: encodeValue('mirror', { sourceClusterId: 'A', createdAt: 1 }) },
  { key: 'config/m/bootstrap.servers', value: encodeValue('config', { value: 'a:9092' }) },
  { key: 'config/m/mirror.on.gap', value: encodeValue('config', { value: 'record' }) },
  { key: 'topic/m/t', value: encodeValue('topic', topic) },
  { key: 'topic/m/gone', value: encodeValue('topic', { ...topic, desired: 'STOPPED' }) },
  { key: 'topic/other/x', value: encodeValue('topic', topic) },
  { key: 'status/m/t/0', value: encodeValue('status', status(4)) },
  { key: 'throttle/broker/4', value: encodeValue('throttle/broker', { rate: 1000 }) },
  { key: 'throttle/topic/t', value: encodeValue('throttle/topic', { replicas: [{ partition: 0, broker: 4 }] }) },
  { key: 'result/m/gone', value: encodeValue('result', { how: 'confirmed', at: 3, partitions: [{ partition: 0, logEndOffset: 12n }] }) },
  {
    key: 'recovery/m/t/1',
    value: encodeValue('recovery', { action: 'record-gap', from: 1n << 40n, to: (1n << 40n) + 9n, addedAt: 5, at: 7 }),
  },
  { key: 'recovery/m/t/0', value: encodeValue('recovery', { action: 'retry', addedAt: 5, at: 7 }) },
  { key: 'mystery/of/a/newer/version', value: '?' },
]

describe('MirrorState', () => {
  it('reads back what was written, int64 exact', () => {
    const state = MirrorState.of(records)
    expect(state.mirror('m')?.topics.get('t')).toEqual(topic)
    expect(state.mirror('m')?.configs).toEqual(
      new Map([
        ['bootstrap.servers', 'a:9092'],
        ['mirror.on.gap', 'record'],
      ]),
    )
    expect(state.status('m', 't', 0)).toEqual(status(4))
    expect(state.brokerThrottles).toEqual(new Map([[4, 1000]]))
    expect(state.topicThrottles.get('t')).toEqual([{ partition: 0, broker: 4 }])
    expect(state.recovery('m', 't', 1, 5)).toEqual({ action: 'record-gap', from: 1n << 40n, to: (1n << 40n) + 9n, addedAt: 5, at: 7 })
    expect(state.recovery('m', 't', 0, 5)?.action).toBe('retry')
    expect(state.mirror('m')?.results.get('gone')?.partitions[0]?.logEndOffset).toBe(12n)
  })

  it('does not care in which order different keys come', () => {
    const expected = MirrorState.of(records)
    fc.assert(
      fc.property(fc.shuffledSubarray(records, { minLength: records.length }), (shuffled) => {
        expect(MirrorState.of(shuffled).mirrors()).toEqual(expected.mirrors())
      }),
    )
  })

  it('keeps, of the statuses of a partition, the last one of the highest owner epoch', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5), fc.string()), { minLength: 1 }), (given) => {
        const state = MirrorState.of(
          given.map(([epoch, owner]) => ({ key: 'status/m/t/0', value: encodeValue('status', status(epoch, owner)) })),
        )
        const highest = Math.max(...given.map(([epoch]) => epoch))
        expect(state.status('m', 't', 0)).toEqual(status(highest, given.findLast(([epoch]) => epoch === highest)?.[1]))
      }),
    )
  })

  it('forgets what a tombstone removes, and a mirror without its own record does not exist', () => {
    const state = MirrorState.of(records)
    state.apply({ key: 'config/m/mirror.on.gap', value: null })
    expect(state.mirror('m')?.configs.has('mirror.on.gap')).toBe(false)
    state.apply({ key: 'mirror/m', value: null })
    expect(state.mirrors()).toEqual([])
    expect(state.mirror('other')).toBeUndefined()
  })

  it('takes no wish for an earlier addition of the topic, nor one that was withdrawn', () => {
    const state = MirrorState.of(records)
    expect(state.recovery('m', 't', 1, 4)).toBeUndefined()
    expect(state.apply({ key: 'recovery/m/t/1', value: null })?.kind).toBe('recovery')
    expect(state.recovery('m', 't', 1, 5)).toBeUndefined()
  })

  it('says which mirror has a topic, removed ones aside', () => {
    const state = MirrorState.of(records)
    expect(state.mirrorOf('t')).toBe('m')
    expect(state.mirrorOf('gone')).toBeUndefined()
    expect(isActive(state.mirror('m')?.topics.get('gone'))).toBe(false)
  })

  it('names what it cannot read, keeps the rest, and is glad when it is overwritten', () => {
    const state = MirrorState.of([...records, { key: 'mirror/n', value: '{"version":2}' }, { key: 'config/m/x', value: 'x' }])
    expect(state.problems.get('mirror/n')).toBe('it has version 2, this program reads version 1')
    expect(state.problems.get('config/m/x')).toBe('it is not JSON')
    expect(state.mirror('m')).toBeDefined()
    state.apply({ key: 'mirror/n', value: records[0]!.value })
    expect([...state.problems.keys()]).toEqual(['config/m/x'])
  })
})

describe('values', () => {
  it('keep every step of a topic that is being copied again', () => {
    const reseed = { at: 9, tailTopic: 't.diverged', kept: false }
    const old = {
      topicId: topic.sourceTopicId,
      replicationFactor: 3,
      settings: { a: 'b' },
      producer: { id: 1n << 60n, epoch: 2 },
      differsFrom: [1n << 40n],
    }
    for (const step of [reseed, { ...reseed, tailTopic: undefined }, { ...reseed, old, kept: true }])
      expect(decodeValue('topic', encodeValue('topic', { ...topic, desired: 'STOPPING', reseed: step })).reseed).toEqual(step)
  })

  it('keep what was asked of owners and what came of it', () => {
    for (const stopping of [{ at: 7 }, { at: 7, logEnds: [1n << 60n, null] }])
      expect(decodeValue('topic', encodeValue('topic', { ...topic, desired: 'STOPPING', stopping })).stopping).toEqual(stopping)
    expect(decodeValue('status', encodeValue('status', { ...status(4), answers: 7 })).answers).toBe(7)
  })

  it('are refused with the field that is wrong', () => {
    const wrong = JSON.stringify({ ...JSON.parse(encodeValue('topic', topic)), producers: [{ id: 1, epoch: 0 }] })
    expect(() => decodeValue('topic', wrong)).toThrow('producers[0].id is not a whole number as text')
  })
})

describe('keys', () => {
  it('survive the round trip, also rules with slashes', () => {
    const rule = 'acl/m/["TRANSACTIONAL_ID","LITERAL","a/b","User:CN=x","*","WRITE","ALLOW"]'
    const keys = [...records.slice(0, -1).map(({ key }) => key), rule, 'sync/m/groups']
    for (const key of keys) expect(formatKey(parseKey(key)!)).toBe(key)
    for (const key of ['', 'mirror', 'mirror/', 'topic/m', 'status/m/t/x', 'throttle/broker/x', 'topic/m/a/b', 'sync/m/x'])
      expect(parseKey(key)).toBeUndefined()
  })
})
