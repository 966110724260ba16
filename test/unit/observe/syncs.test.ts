import { Writable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { createLog, createMetrics, logSyncs } from '../../../src/observe/index.js'
import { publishSync, type SyncRound } from '../../../src/sync/events.js'
import { runner } from './snapshots.js'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

const round = (fields: Partial<SyncRound> = {}) =>
  publishSync({
    kind: 'round',
    mirror: 'm',
    loop: 'configs',
    at: 5_000,
    milliseconds: 250,
    ok: true,
    changes: 0,
    problems: [],
    more: 0,
    ...fields,
  })

describe('metrics of the slow loops', () => {
  const metrics = () => {
    const created = createMetrics({ snapshot: () => runner([]) })
    closers.push(() => created.close())
    return async () =>
      (await created.render())
        .split('\n')
        .filter((line) => line.startsWith('kafka_mirrors_sync_'))
        .map((line) => line.replace('kafka_mirrors_sync_', ''))
  }

  it('count from the first round on, errors too', async () => {
    const samples = metrics()
    expect(await samples()).toEqual([])
    round({ changes: 3, problems: [{ item: 'a', message: 'no' }], more: 4 })
    expect(await samples()).toEqual([
      'rounds_total{mirror="m",sync="configs"} 1',
      'errors_total{mirror="m",sync="configs"} 0',
      'changes_total{mirror="m",sync="configs"} 3',
      'problems{mirror="m",sync="configs"} 5',
      'last_success_timestamp_seconds{mirror="m",sync="configs"} 5',
      'last_round_seconds{mirror="m",sync="configs"} 0.25',
    ])
    round({ ok: false, at: 9_000, error: 'away' })
    round({ loop: 'groups', at: 6_000 })
    const now = await samples()
    expect(now).toContain('errors_total{mirror="m",sync="configs"} 1')
    expect(now).toContain('last_success_timestamp_seconds{mirror="m",sync="configs"} 5')
    expect(now).toContain('last_success_timestamp_seconds{mirror="m",sync="groups"} 6')
  })

  it('leave no gauge behind that nobody sets any more', async () => {
    const samples = metrics()
    round()
    round({ mirror: 'other' })
    publishSync({ kind: 'ended', mirror: 'm' })
    const now = await samples()
    expect(now.filter((line) => line.includes('"m"')).map((line) => line.split('{')[0])).toEqual([
      'rounds_total',
      'errors_total',
      'changes_total',
    ])
    expect(now).toContain('problems{mirror="other",sync="configs"} 0')
  })

  it('end with the metrics', async () => {
    const created = createMetrics({ snapshot: () => runner([]) })
    created.close()
    round()
    expect(await created.render()).not.toContain('sync_rounds_total{')
  })
})

describe('the log of the slow loops', () => {
  it('says what is new, once', () => {
    const lines: string[] = []
    const stream = new Writable({ write: (chunk, _, done) => done(void lines.push(String(chunk))) })
    closers.push(logSyncs(createLog({ stream, human: false, level: 'info' })))
    const problem = { item: 'topic a', message: 'retention.ms is refused' }
    for (let i = 0; i < 3; i++) round({ ok: false, error: 'the source is away' })
    for (let i = 0; i < 3; i++) round({ problems: [problem] })
    round({ problems: [problem, { item: 'topic b', message: 'no' }], changes: 1 })
    publishSync({ kind: 'ended', mirror: 'm' })
    round({ problems: [problem] })
    expect(lines.map((line) => JSON.parse(line)).map(({ level, msg }) => `${level} ${msg}`)).toEqual([
      'error the sync of configs failed: the source is away',
      'info the sync of configs works again',
      'warn configs: topic a: retention.ms is refused',
      'warn configs: topic b: no',
      'info synced configs',
      'warn configs: topic a: retention.ms is refused',
    ])
    expect(JSON.parse(lines[0]!)).toMatchObject({ event: 'sync', mirror: 'm', sync: 'configs' })
  })
})
