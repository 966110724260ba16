import { expect, it } from 'vitest'
import { mirrorConfigOf } from '../../../src/mirror/config.js'
import { MirrorState } from '../../../src/mirror/fold.js'
import type { DesiredState } from '../../../src/mirror/state.js'
import { formatKey } from '../../../src/mirror/state-keys.js'
import { encodeValue } from '../../../src/mirror/state-values.js'
import { NO_UUID } from '../../../src/protocol/index.js'
import { groupsLoop } from '../../../src/sync/groups/index.js'
import type { SyncContext } from '../../../src/sync/types.js'
import { clusterOf, type Override } from './scripted-groups.js'

function stateWith(desired: DesiredState): MirrorState {
  const spec = { desired, sourceTopicId: NO_UUID, destinationTopicId: NO_UUID, partitions: 1, producers: [], held: {}, addedAt: 1 }
  return MirrorState.of([
    { key: formatKey({ kind: 'mirror', mirror: 'm' }), value: encodeValue('mirror', { sourceClusterId: 'c', createdAt: 0 }) },
    { key: formatKey({ kind: 'topic', mirror: 'm', topic: 't' }), value: encodeValue('topic', spec) },
  ])
}

function contextOf(options: { desired?: DesiredState; configs?: Record<string, string>; override?: Override; ownsShard?: boolean } = {}) {
  const source = clusterOf({ a: { at: 1, offset: 5n }, b: { at: 1, offset: 6n } })
  const destination = clusterOf({}, options.override)
  const world = { state: stateWith(options.desired ?? 'MIRRORING') }
  const unused = () => Promise.reject(new Error('not needed'))
  const context: SyncContext = {
    mirror: 'm',
    source: source.cluster,
    destination: destination.cluster,
    store: { update: unused },
    admission: { checkRights: unused, checkExisting: unused },
    state: () => world.state,
    config: () => mirrorConfigOf(new Map(Object.entries(options.configs ?? {}))),
    now: () => 0,
    ownsShard: () => options.ownsShard ?? true,
  }
  return { context, world, commits: destination.commits }
}

it('follows the settings of the mirror', async () => {
  const { context, commits } = contextOf({ configs: { 'mirror.groups.exclude': 'b', 'mirror.group.sync.interval.ms': '700' } })
  expect(groupsLoop.intervalMs(context.config())).toBe(700)
  expect(await groupsLoop.run(context)).toEqual({ changes: 1, problems: [], notes: [] })
  expect(commits).toEqual(['1: a t-0 5'])
})

it.each([
  ['MIRRORING', 2],
  ['PAUSED', 2],
  ['STOPPING', 0],
  ['STOPPED', 0],
] as const)('of a topic that is to be %s makes %i changes', async (desired, changes) => {
  expect((await groupsLoop.run(contextOf({ desired }).context)).changes).toBe(changes)
})

it('writes nothing once the topic is on its way out, or the mirror is another runner’s', async () => {
  const removed = contextOf({
    override: (_, api) => {
      if (api === 'ListOffsets') removed.world.state = stateWith('STOPPING')
      return undefined
    },
  })
  expect(await groupsLoop.run(removed.context)).toEqual({ changes: 0, problems: [], notes: [] })
  expect(removed.commits).toEqual([])
  const lost = contextOf({ ownsShard: false })
  await groupsLoop.run(lost.context)
  expect(lost.commits).toEqual([])
})
