import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { mirrorConfigOf } from '../../../src/mirror/config.js'
import { MirrorState } from '../../../src/mirror/fold.js'
import type { SyncLoopName } from '../../../src/mirror/state.js'
import { MirrorSync, type SyncTimer } from '../../../src/sync/mirror-sync.js'
import type { FrameLoop, SyncContext, SyncOutcome, SyncReport } from '../../../src/sync/types.js'

const QUIET: SyncReport = { changes: 0, problems: [], notes: [] }

/** A clock that moves only when told; what is due is called then. */
class Time implements SyncTimer {
  now = 0
  private readonly due = new Set<{ readonly at: number; readonly action: () => void }>()

  after(milliseconds: number, action: () => void): () => void {
    const entry = { at: this.now + milliseconds, action }
    this.due.add(entry)
    return () => this.due.delete(entry)
  }

  async pass(milliseconds: number): Promise<void> {
    const until = this.now + milliseconds
    for (;;) {
      const [next] = [...this.due].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.due.delete(next)
      this.now = next.at
      next.action()
      await settled()
    }
    this.now = until
  }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn()
}

function frame(
  rounds: Partial<Record<SyncLoopName, () => Promise<SyncReport>>>,
  { owns = (): boolean => true, write = async (): Promise<void> => {} } = {},
) {
  const time = new Time()
  const began: [SyncLoopName, number][] = []
  const written: [SyncLoopName, SyncOutcome][] = []
  const context: SyncContext = {
    mirror: 'm',
    source: undefined as never,
    destination: undefined as never,
    store: undefined as never,
    admission: undefined as never,
    state: () => new MirrorState(),
    config: () => mirrorConfigOf(new Map()),
    now: () => time.now,
    ownsShard: owns,
  }
  const loops = Object.entries(rounds).map(([name, run]): FrameLoop => {
    const loop = name as SyncLoopName
    return {
      name: loop,
      intervalMs: ({ groupSyncIntervalMs, metadataRefreshIntervalMs }) =>
        name === 'groups' ? groupSyncIntervalMs : metadataRefreshIntervalMs,
      run: () => {
        began.push([loop, time.now])
        return run()
      },
    }
  })
  const sync = new MirrorSync(
    { ...context, connect: async () => context },
    loops,
    async (loop, outcome) => {
      await write()
      written.push([loop, outcome])
    },
    time,
  )
  return { sync, time, began, written }
}

describe('MirrorSync', () => {
  it('begins with every loop and runs each at its own pace', async () => {
    const { sync, time, began } = frame({ topics: async () => QUIET, groups: async () => QUIET })
    sync.start()
    await settled()
    await time.pass(30_000)
    expect(began.filter(([loop]) => loop === 'topics').map(([, at]) => at)).toEqual([0, 30_000])
    expect(began.filter(([loop]) => loop === 'groups').map(([, at]) => at)).toEqual([0, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000])
    await sync.close()
    await time.pass(60_000)
    expect(began).toHaveLength(9)
  })

  it('never runs a loop twice at once, and waits from the end of a round', async () => {
    let finish = (_: SyncReport) => {}
    const { sync, time, began } = frame({ groups: () => new Promise((resolve) => (finish = resolve)) })
    sync.start()
    await settled()
    await time.pass(60_000)
    expect(began).toHaveLength(1)
    finish(QUIET)
    await settled()
    await time.pass(4_999)
    expect(began).toHaveLength(1)
    await time.pass(1)
    expect(began).toEqual([
      ['groups', 0],
      ['groups', 65_000],
    ])
  })

  it('looks again at once when the spec changes, right behind the round under way, and not at groups', async () => {
    let finish = (_: SyncReport) => {}
    const { sync, began } = frame({ configs: () => new Promise((resolve) => (finish = resolve)), groups: async () => QUIET })
    sync.start()
    await settled()
    sync.changed()
    sync.changed()
    await settled()
    expect(began.map(([loop]) => loop)).toEqual(['configs', 'groups'])
    finish(QUIET)
    await settled()
    expect(began.map(([loop]) => loop)).toEqual(['configs', 'groups', 'configs'])
    finish(QUIET)
    await settled()
    expect(began).toHaveLength(3)
  })

  it('keeps the error of one loop from the others, and the time of its last success', async () => {
    let broken = false
    const { sync, time, written, began } = frame({
      topics: async () => {
        if (broken) throw new Error('the source is out of reach')
        return QUIET
      },
      configs: async () => QUIET,
    })
    sync.start()
    await settled()
    broken = true
    await time.pass(30_000)
    const last = written.filter(([loop]) => loop === 'topics').at(-1)![1]
    expect(last).toMatchObject({ at: 30_000, ok: false, error: 'the source is out of reach', lastSuccess: 0, problems: [] })
    expect(began.filter(([loop]) => loop === 'configs')).toHaveLength(2)
    broken = false
    await time.pass(30_000)
    expect(written.filter(([loop]) => loop === 'topics').at(-1)![1]).toMatchObject({ ok: true, lastSuccess: 60_000 })
  })

  it('writes an outcome when it differs, and every half a minute otherwise', async () => {
    let problems: SyncReport['problems'] = []
    const { sync, time, written } = frame({ groups: async () => ({ ...QUIET, problems }) })
    sync.start()
    await settled()
    await time.pass(10_000)
    expect(written.map(([, { at }]) => at)).toEqual([0])
    problems = [{ item: 'g', message: 'is active' }]
    await time.pass(10_000)
    expect(written.map(([, { at }]) => at)).toEqual([0, 15_000])
    await time.pass(30_000)
    expect(written.map(([, { at }]) => at)).toEqual([0, 15_000, 45_000])
  })

  it('tries a status that could not be written again in the next round', async () => {
    let broken = true
    const { sync, time, written } = frame(
      { groups: async () => QUIET },
      {
        write: async () => {
          if (broken) throw new Error('the destination is out of reach')
        },
      },
    )
    sync.start()
    await settled()
    broken = false
    await time.pass(5_000)
    expect(written.map(([, { at }]) => at)).toEqual([5_000])
  })

  it('keeps a hundred problems and counts the rest', async () => {
    const problems = Array.from({ length: 130 }, (_, i) => ({ item: `t${String(i).padStart(3, '0')}`, message: 'no' })).reverse()
    const { sync, written } = frame({ configs: async () => ({ ...QUIET, problems }) })
    sync.start()
    await settled()
    const { problems: kept, more } = written[0]![1]
    expect([kept.length, kept[0]!.item, more]).toEqual([100, 't000', 30])
  })

  it('begins and writes nothing once another runner owns the shard', async () => {
    let owned = true
    let finish = (_: SyncReport) => {}
    const { sync, time, began, written } = frame({ groups: () => new Promise((resolve) => (finish = resolve)) }, { owns: () => owned })
    sync.start()
    owned = false
    finish(QUIET)
    await settled()
    await time.pass(30_000)
    expect([began.length, written.length]).toEqual([1, 0])
  })

  it('ends a round under way before it closes', async () => {
    let finish = (_: SyncReport) => {}
    const { sync } = frame({ groups: () => new Promise((resolve) => (finish = resolve)) })
    sync.start()
    let closed = false
    const closing = sync.close().then(() => (closed = true))
    await settled()
    expect(closed).toBe(false)
    finish(QUIET)
    await closing
    sync.changed()
  })
})
