import { beforeEach, describe, expect, it } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { formatBinding, guardOf } from '../../../src/mirror/acl-bindings.js'
import type { ActiveTopic } from '../../../src/mirror/fold.js'
import { mustExist, put } from '../../../src/mirror/spec-store.js'
import type { TopicSpec } from '../../../src/mirror/state.js'
import type { ServiceContext } from '../../../src/service/context.js'
import { finishRemovals, type RemovalWork } from '../../../src/service/release-topic.js'
import { ModelAuthorizer, ModelStore } from '../../support/model-authorizer.js'

const ID = '00000000-0000-0000-0000-000000000001'
const leaving: ActiveTopic = {
  desired: 'STOPPING',
  stopping: { at: 7, logEnds: [20n] },
  sourceTopicId: ID,
  destinationTopicId: ID,
  partitions: 1,
  producers: [{ id: 1n, epoch: 0 }],
  held: { 'retention.ms': '1000' },
  addedAt: 5,
}
const again: TopicSpec = { ...leaving, desired: 'MIRRORING', stopping: undefined, addedAt: 8 }
const { stopping: _, ...older } = leaving

let store: ModelStore
let authorizer: ModelAuthorizer
/** Topics whose real settings were put in force, in order. */
let released: string[]
/** What happens once settings are about to be released. */
let releasing: () => Promise<void>

const write = (...records: ReturnType<typeof put>[]) => store.update(() => ({ records, result: undefined }))
const topic = (name: string, spec: TopicSpec) => write(put({ kind: 'topic', mirror: 'm', topic: name }, spec))
const specOf = (name: string) => mustExist(store.state, 'm').topics.get(name)

beforeEach(async () => {
  store = new ModelStore()
  authorizer = new ModelAuthorizer()
  released = []
  releasing = async () => {}
  await write(put({ kind: 'mirror', mirror: 'm' }, { sourceClusterId: 'A', createdAt: 1 }))
  for (const name of ['t', 'u']) {
    await topic(name, leaving)
    authorizer.add(guardOf(name))
    await write(put({ kind: 'acl', mirror: 'm', binding: formatBinding(guardOf(name)) }, { what: 'guard', at: 1 }))
  }
})

/** The destination, whose rules and settings are all that matters once owners have let go. */
function destination(): Cluster {
  const rules = authorizer.cluster as unknown as Record<string, (...args: never[]) => Promise<unknown>>
  const settings = async (resources: readonly { resourceName: string }[]) => {
    await releasing()
    released.push(...resources.map(({ resourceName }) => resourceName))
    return { responses: resources.map((one) => ({ ...one, errorCode: 0, errorMessage: null })) }
  }
  const ask = async (api: { name: string }, request: { resources: readonly { resourceName: string }[] }) =>
    api.name === 'IncrementalAlterConfigs' ? settings(request.resources) : rules.any!(api as never, request as never)
  return { ...rules, any: ask, controller: ask } as unknown as Cluster
}

async function finished(spec: ActiveTopic = leaving) {
  const context = { destination: destination(), store, now: () => 99 } as unknown as ServiceContext
  const work = {
    context,
    mirror: mustExist(store.state, 'm'),
    leaving: ['t', 'u'].map((name) => ({ topic: name, spec, before: 'STOPPING' as const })),
    state: store.state,
    source: { whenReached: async () => undefined },
    warnings: [],
  }
  const results = await finishRemovals(work as unknown as RemovalWork)
  return [...results.values()].map((result) => (result.ok ? result.value.how : (result.error as { code?: string }).code))
}

/** Carries this out once, as soon as `api` is asked for. */
function when(api: string, action: () => Promise<unknown>): void {
  let done = false
  authorizer.moment = async (name) => {
    if (name !== api || done) return
    done = true
    await action()
  }
}

describe('a removal whose topic another command mirrors again meanwhile', () => {
  it('leaves guard and settings to it, and says that it has not removed it', async () => {
    let updates = 0
    store.moment = async () => {
      // The log ends are on record.
      if (++updates !== 2) return
      await topic('t', again)
    }
    expect(await finished()).toEqual(['CONFLICT', 'confirmed'])
    expect([authorizer.has(guardOf('t')), authorizer.has(guardOf('u')), released]).toEqual([true, false, ['u']])
    expect([specOf('t'), specOf('u')?.desired]).toEqual([again, 'STOPPED'])
  })

  it('leaves the settings to it that came while rules were changed', async () => {
    when('DeleteAcls', () => topic('t', again))
    expect((await finished())[0]).toBe('CONFLICT')
    expect(released).not.toContain('t')
    expect(specOf('t')).toEqual(again)
  })

  it('says so where that came last of all', async () => {
    releasing = () => topic('t', again)
    expect(await finished()).toEqual(['CONFLICT', 'confirmed'])
    expect(mustExist(store.state, 'm').results.get('t')).toBeUndefined()
    expect([specOf('t'), specOf('u')?.desired]).toEqual([again, 'STOPPED'])
  })

  it('is done where the other one has removed it, and touches nothing of it any more', async () => {
    when('DeleteAcls', () => topic('t', { ...leaving, desired: 'STOPPED', stopping: undefined, held: {} }))
    expect(await finished()).toEqual(['confirmed', 'confirmed'])
    expect(released).toEqual(['u'])
  })

  it('goes on where an older version has begun it', async () => {
    for (const name of ['t', 'u']) await topic(name, { ...older, stopping: { at: 50, logEnds: [20n] } })
    expect(await finished({ ...older, stopping: { at: 50 } })).toEqual(['confirmed', 'confirmed'])
    expect([released, specOf('t')?.desired]).toEqual([['t', 'u'], 'STOPPED'])
  })
})
