import { expect, test } from 'vitest'
import type { Mirror } from '../../../src/mirror/spec-store.js'
import { checkPartitions } from '../../../src/service/recovery/recover-mirror.js'

/** A mirror of topics with so many partitions. */
const mirrorOf = (topics: Readonly<Record<string, number>>) =>
  ({
    name: 'shop',
    topics: new Map(Object.entries(topics).map(([topic, partitions]) => [topic, { desired: 'MIRRORING', partitions }])),
  }) as unknown as Mirror

const mirror = mirrorOf({ few: 3, many: 100 })

test.each([
  ['few', ['few'], [1, 99], 'topic few of mirror shop has no partition 99'],
  ['all', ['few', 'many'], [99, 100], 'no topic of mirror shop has a partition 100'],
])('a partition that %s lacks is named', (_, topics, partitions, message) => {
  expect(() => checkPartitions(mirror, topics, partitions)).toThrow(expect.objectContaining({ code: 'TOPIC_NOT_MIRRORED', message }))
})

test('partitions that one of the topics has are looked at there', () => {
  checkPartitions(mirror, ['few', 'many'], [2, 99])
  checkPartitions(mirror, ['few'], undefined)
})
