import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { TopicMetadata } from '../../../src/client/metadata.js'
import { TopicWatch } from '../../../src/engine/topic-watch.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const topic = (name: string, topicId: string, errorCode = 0): [string, TopicMetadata] => [
  name,
  { name, topicId, errorCode, internal: false, partitions: [] },
]

it('tells the ids of topics, and which are gone, but not what a broker cannot say just now', async () => {
  const seen: [string, string | undefined][] = []
  const look = vi.fn(async () => new Map([topic('a', 'id-a'), topic('gone', '', 3), topic('unsure', '', 5)]))
  const lookAtEnds = vi.fn(async () => {})
  const port = { topics: () => new Set(['a', 'gone', 'unsure']), intervalMs: () => 2_000, look, lookAtEnds }
  const watch = new TopicWatch({ ...port, seen: (name, id) => seen.push([name, id]) })
  watch.start()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(look).toHaveBeenCalledExactlyOnceWith(['a', 'gone', 'unsure'])
  expect(seen).toEqual([
    ['a', 'id-a'],
    ['gone', undefined],
  ])
  await vi.advanceTimersByTimeAsync(4_000)
  expect(look).toHaveBeenCalledTimes(3)
  expect(lookAtEnds).toHaveBeenCalledTimes(3)
  watch.close()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(look).toHaveBeenCalledTimes(3)
})

it('obeys an interval that changes, asks for nothing when there is nothing, and never asks twice at once', async () => {
  let interval = 30_000
  let topics: string[] = []
  const answers: (() => void)[] = []
  const look = vi.fn(() => new Promise<Map<string, TopicMetadata>>((_, reject) => answers.push(() => reject(new Error('out of reach')))))
  const watch = new TopicWatch({
    topics: () => new Set(topics),
    intervalMs: () => interval,
    look,
    seen: () => expect.fail(),
    lookAtEnds: async () => {},
  })
  watch.start()
  interval = 1_000
  await vi.advanceTimersByTimeAsync(5_000)
  expect(look).not.toHaveBeenCalled()
  topics = ['a']
  await vi.advanceTimersByTimeAsync(10_000)
  expect(look).toHaveBeenCalledTimes(1)
  answers[0]!()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(look).toHaveBeenCalledTimes(2)
  watch.close()
})
