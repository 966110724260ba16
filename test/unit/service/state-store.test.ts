import { describe, expect, it } from 'vitest'
import type { KeyedRecord, Snapshot } from '../../../src/client/keyed-log.js'
import type { MirrorState } from '../../../src/mirror/fold.js'
import { put } from '../../../src/mirror/spec-store.js'
import { StateStore } from '../../../src/service/state-store.js'

/** The spec partition in memory: `rivals` are others who write just before a conditional append. */
class FakeLog {
  readonly records: KeyedRecord[] = []
  readonly batches: number[] = []
  rivals: KeyedRecord[][] = []
  private sequence = 0

  async snapshot(partition: number): Promise<Snapshot> {
    return { partition, sequence: this.sequence, records: this.records.map((record) => ({ ...record }) as never) }
  }

  async compareAndAppend({ sequence }: Snapshot, records: readonly KeyedRecord[]): Promise<boolean> {
    const rival = this.rivals.shift()
    if (rival !== undefined) this.take(rival)
    if (sequence !== this.sequence) return false
    this.take(records)
    return true
  }

  private take(records: readonly KeyedRecord[]): void {
    this.records.push(...records)
    this.batches.push(records.length)
    this.sequence++
  }
}

function storeOf() {
  const log = new FakeLog()
  return { log, store: Object.assign(new StateStore(undefined as never), { log: log as never }) }
}

const config = (mirror: string, value: string) => put({ kind: 'config', mirror, key: 'mirror.on.gap' }, { value })
const created = (mirror: string) => put({ kind: 'mirror', mirror }, { sourceClusterId: undefined, createdAt: 1 })
const countOf = (state: MirrorState) => state.mirrors().length

describe('StateStore.update', () => {
  it('writes what is decided at the same time together, each on top of those before', async () => {
    const { log, store } = storeOf()
    const names = Array.from({ length: 20 }, (_, i) => `m${i}`)
    const seen = await Promise.all(
      names.map((name) => store.update((state) => ({ records: [created(name), config(name, 'fail')], result: countOf(state) }))),
    )
    expect(seen).toEqual(names.map((_, i) => i))
    expect(log.batches).toEqual([2, 38])
  })

  it('lets one that throws write nothing, and the others all they decided', async () => {
    const { log, store } = storeOf()
    const outcomes = await Promise.allSettled([
      store.update(() => ({ records: [created('first')], result: 1 })),
      store.update(() => ({ records: [created('a')], result: 2 })),
      store.update(() => {
        throw new Error('is refused')
      }),
      store.update((state) => ({ records: [created('b')], result: countOf(state) })),
    ])
    expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message))).toEqual([
      1,
      2,
      'is refused',
      2,
    ])
    expect(log.records.map(({ key }) => key)).toEqual(['mirror/first', 'mirror/a', 'mirror/b'])
  })

  it('asks all of them again when somebody else was faster', async () => {
    const { log, store } = storeOf()
    log.rivals = [[created('rival')]]
    let asked = 0
    const decide = (state: MirrorState) => {
      asked++
      return { records: [created(`own${asked}`)], result: countOf(state) }
    }
    expect(await store.update(decide)).toBe(1)
    expect(asked).toBe(2)
    expect(log.records.map(({ key }) => key)).toEqual(['mirror/rival', 'mirror/own2'])
  })

  it('gives up when others are faster every time, and goes on with what comes later', async () => {
    const { log, store } = storeOf()
    log.rivals = Array.from({ length: 10 }, () => [created('rival')])
    await expect(store.update(() => ({ records: [created('own')], result: 0 }))).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await store.update(() => ({ records: [created('own')], result: 7 }))).toBe(7)
  })

  it('writes nothing where nothing is decided', async () => {
    const { log, store } = storeOf()
    expect(await store.update((state) => ({ records: [], result: countOf(state) }))).toBe(0)
    expect(log.batches).toEqual([])
  })
})
