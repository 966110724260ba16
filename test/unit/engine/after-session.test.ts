import { expect, test } from 'vitest'
import { AfterSession } from '../../../src/engine/after-session.js'
import { Pause } from '../../../src/engine/backoff.js'
import type { PartitionContext } from '../../../src/engine/partition-context.js'
import { PartitionStanding } from '../../../src/engine/partition-standing.js'
import { mirrorConfigOf } from '../../../src/mirror/config.js'
import type { PartitionStatus } from '../../../src/mirror/state.js'

function partition({ mayAppend }: { readonly mayAppend: boolean }) {
  const written: PartitionStatus[] = []
  const context = {
    mirror: 'm',
    topic: 't',
    partition: 0,
    owner: 'runner',
    ownerEpoch: () => 3,
    spec: () => ({ addedAt: 1, destinationTopicId: 'id' }),
    config: () =>
      mirrorConfigOf(
        new Map([
          ['mirror.fetch.backoff.ms', '1'],
          ['mirror.failed.retry.initial.backoff.ms', '1'],
        ]),
      ),
    mayAppend: () => mayAppend,
    forgetMaxMessageBytes() {},
  } as unknown as PartitionContext
  const write = async (status: PartitionStatus) => void written.push(status)
  const standing = new PartitionStanding(context, undefined, write, Date.now)
  return { after: new AfterSession(context, standing, new Pause()), standing, written }
}

test('a verdict fails the partition, on record', async () => {
  const { after, standing, written } = partition({ mayAppend: true })
  await after.pass({ kind: 'failed', reason: 'the log end is 888 where 864 was expected' })
  expect(standing.state).toBe('FAILED')
  expect(written.at(-1)).toMatchObject({ state: 'FAILED', error: { message: 'the log end is 888 where 864 was expected' } })
})

test('a runner that lost its place judges nothing: what it finds may be its heir’s work', async () => {
  const { after, standing, written } = partition({ mayAppend: false })
  await after.pass({ kind: 'failed', reason: 'the log end is 888 where 864 was expected' })
  expect(standing.state).not.toBe('FAILED')
  expect(written).toEqual([])
})
