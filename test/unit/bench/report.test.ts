import { describe, expect, it } from 'vitest'
import { parseOptions } from '../../bench/options.js'
import { sharesOfProfile } from '../../bench/profile.js'
import { textOf } from '../../bench/report.js'

describe('the benchmark', () => {
  it('compares medians with what was promised', () => {
    const copy = (peer: 'ours' | 'mm2', round: number, recordsPerSecond: number) =>
      ({
        workload: 'plain',
        peer,
        round,
        recordsPerSecond,
        megabytesPerSecond: recordsPerSecond / 1000,
        cpuSeconds: 2,
        peakRssMb: 310,
      }) as const
    const copies = [copy('ours', 1, 300_000), copy('ours', 2, 100_000), copy('ours', 3, 200_000), copy('mm2', 1, 40_000)]
    const text = textOf({
      copies,
      profiles: [],
      latencies: [{ through: 'ours', rate: 100, p50: 2, p99: 9, max: 10 }],
      failures: ['idle: no'],
    })
    expect(text).toMatch(/^ours +3 +200,000 +200\.0 +2\.00 +310$/m)
    expect(text).toContain('ours / mm2: 5.00 (kept: ≥ 4) × the rate, 1.00 × the CPU seconds')
    expect(text).toContain('peak RSS of ours: 310 (MISSED: ≤ 300) MB')
    expect(text).toMatch(/^ours +100\/s +2\.00 \(kept: ≤ 4\) +9\.00 +10\.00$/m)
    expect(text).toContain('FAILED idle: no')
  })

  it('measures an earlier build only where one is given', () => {
    expect(parseOptions([])?.peers).not.toContain('before')
    expect(parseOptions(['--before', 'old', '--peers', 'ours,before'])).toMatchObject({ peers: ['ours', 'before'], before: 'old' })
    expect(() => parseOptions(['--peers', 'before'])).toThrow("'before' needs --before DIR")
  })

  it('sums self time by owner without idle time', () => {
    const node = (id: number, url: string, functionName = 'f') => ({ id, callFrame: { functionName, url } })
    const nodes = [
      node(1, 'file:///x/node_modules/kafkajs/src/network/connection.js'),
      node(2, 'file:///x/dist/src/engine/append-lane.js'),
      node(3, '', '(idle)'),
      node(4, 'node:internal/stream_base_commons'),
      node(5, '', '(program)'),
    ]
    expect(sharesOfProfile({ nodes, samples: [1, 2, 3, 4, 5], timeDeltas: [10, 40, 900, 30, 20] })).toEqual([
      { owner: 'src/engine', percent: 40 },
      { owner: 'node: net and streams', percent: 30 },
      { owner: 'native (system calls)', percent: 20 },
      { owner: 'kafkajs', percent: 10 },
    ])
  })

  it('says what is wrong with its flags', () => {
    expect(parseOptions(['--only', 'lz4,idle', '--peers', 'ours', '--rounds', '2'])).toMatchObject({
      only: ['lz4', 'idle'],
      peers: ['ours'],
      rounds: 2,
    })
    expect(() => parseOptions(['--only', 'lz5'])).toThrow("--only: there is no 'lz5'; there are plain, lz4")
    expect(() => parseOptions(['--records', 'x'])).toThrow("--records: 'x' is not a whole number above 0")
  })
})
