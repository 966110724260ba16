import { expect, test } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { LostPlace } from '../../../src/engine/errors.js'
import { TopicCare } from '../../../src/engine/topic-care.js'

const HELD = { 'retention.ms': '7000', 'cleanup.policy': null }

interface Change {
  readonly configs: readonly { readonly name: string; readonly value: string | null }[]
}

/** A destination that keeps what was asked of it, and what operators say of the topic whenever they are asked. */
function destination(...stillOurs: boolean[]) {
  const sent: Record<string, string | null>[] = []
  const any = async (_api: unknown, { resources }: { readonly resources: readonly Change[] }) => {
    sent.push(...resources.map(({ configs }) => Object.fromEntries(configs.map(({ name, value }) => [name, value]))))
    return { responses: resources.map((resource) => ({ ...resource, errorCode: 0, errorMessage: null })) }
  }
  const care = new TopicCare({ any } as unknown as Cluster)
  return { sent, hold: () => care.hold('t', { held: HELD }, async () => stillOurs.shift() ?? false) }
}

const FORCED = { 'retention.ms': '-1', 'cleanup.policy': 'delete' }

test('a topic that is the mirror’s is held', async () => {
  const { sent, hold } = destination(true, true)
  await hold()
  expect(sent).toEqual([FORCED])
})

test('a topic that was failed over while its runner was frozen is let alone', async () => {
  const { sent, hold } = destination(false)
  await expect(hold()).rejects.toThrow(LostPlace)
  expect(sent).toEqual([])
})

test('what was put on behind a failover comes off again', async () => {
  const { sent, hold } = destination(true, false)
  await expect(hold()).rejects.toThrow(LostPlace)
  expect(sent).toEqual([FORCED, HELD])
})
