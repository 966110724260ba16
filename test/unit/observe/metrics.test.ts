import { describe, expect, it } from 'vitest'
import { createMetrics } from '../../../src/observe/index.js'
import { partition, runner } from './snapshots.js'

const samples = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('kafka_mirrors_'))
    .map((line) => line.replace('kafka_mirrors_', ''))

describe('metrics', () => {
  it('has a series per partition', async () => {
    const metrics = createMetrics({
      snapshot: () => runner([partition(), partition({ partition: 1, state: 'FAILED', logEndOffset: undefined })]),
    })
    expect(samples(await metrics.render())).toEqual([
      'bytes_total{mirror="m",topic="orders",partition="0"} 1000',
      'bytes_total{mirror="m",topic="orders",partition="1"} 1000',
      'records_total{mirror="m",topic="orders",partition="0"} 10',
      'records_total{mirror="m",topic="orders",partition="1"} 10',
      'retries_total{mirror="m",topic="orders",partition="0"} 1',
      'retries_total{mirror="m",topic="orders",partition="1"} 1',
      'rewritten_batches_total{mirror="m",topic="orders",partition="0"} 2',
      'rewritten_batches_total{mirror="m",topic="orders",partition="1"} 2',
      'lag_records{mirror="m",topic="orders",partition="0"} 5',
      'lag_records{mirror="m",topic="orders",partition="1"} 0',
      'partition_state{mirror="m",topic="orders",partition="0",state="MIRRORING"} 1',
      'partition_state{mirror="m",topic="orders",partition="1",state="FAILED"} 1',
      'lost_offsets{mirror="m",topic="orders",partition="0"} 0',
      'lost_offsets{mirror="m",topic="orders",partition="1"} 0',
      'runner_alive 1',
      'runner_owned_shards 3',
      'runner_buffered_bytes 7',
    ])
  })

  it('names the producer whose open transaction a partition waits for, and counts lost offsets', async () => {
    const openTransaction = { producerId: 4001n, firstOffset: 25n, lastWriteAt: Date.now() - 60_000 }
    const partitions = [
      partition({ openTransaction, lostOffsets: 1n << 33n }),
      partition({ partition: 1, openTransaction, lostOffsets: 2n }),
    ]
    const seconds = (text: string) => /open_transaction_seconds\{(.*)\} (\d+)/.exec(text)?.slice(1)
    const text = samples(await createMetrics({ snapshot: () => runner(partitions) }).render())
    expect(seconds(text.find((line) => line.includes('partition="1",producer_id'))!)).toEqual([
      'mirror="m",topic="orders",partition="1",producer_id="4001"',
      '60',
    ])
    expect(text).toContain('lost_offsets{mirror="m",topic="orders",partition="0"} 8589934592')
    const summed = samples(await createMetrics({ snapshot: () => runner(partitions), partitionLimit: 1 }).render())
    expect(seconds(summed.join('\n'))).toEqual(['mirror="m",topic="orders",producer_id="4001"', '60'])
    expect(summed).toContain('lost_offsets{mirror="m",topic="orders"} 8589934594')
  })

  it('is read anew at each scrape and forgets partitions that left', async () => {
    let now = runner([partition(), partition({ partition: 1 })])
    const metrics = createMetrics({ snapshot: () => now })
    await metrics.render()
    now = runner([partition({ bytes: 1500, state: 'PAUSED' })], { alive: false })
    const text = samples(await metrics.render())
    expect(text).toContain('bytes_total{mirror="m",topic="orders",partition="0"} 1500')
    expect(text).toContain('runner_alive 0')
    expect(text.filter((line) => line.includes('partition="1"') || line.includes('MIRRORING'))).toEqual([])
  })

  it('sums per topic above the limit of partitions, per mirror above that of topics', async () => {
    const topics = (n: number) => Array.from({ length: n }, (_, t) => [0, 1].map((p) => partition({ topic: `t${t}`, partition: p }))).flat()
    const render = async (n: number) => samples(await createMetrics({ snapshot: () => runner(topics(n)), partitionLimit: 3 }).render())
    expect(await render(2)).toContain('records_total{mirror="m",topic="t1"} 20')
    expect(await render(2)).toContain('partition_state{mirror="m",topic="t0",state="MIRRORING"} 2')
    expect(await render(4)).toContain('records_total{mirror="m"} 80')
    expect(await render(4)).toContain('lag_records{mirror="m"} 40')
  })

  it('never lets a sum fall when a partition leaves or starts over', async () => {
    const at = async (...partitions: ReturnType<typeof partition>[]) => {
      now = runner(partitions)
      return samples(await metrics.render()).find((line) => line.startsWith('records_total'))
    }
    let now = runner([])
    const metrics = createMetrics({ snapshot: () => now, partitionLimit: 0 })
    expect(await at(partition({ records: 10 }), partition({ partition: 1, records: 5 }))).toBe('records_total{mirror="m"} 15')
    expect(await at(partition({ records: 12 }))).toBe('records_total{mirror="m"} 17')
    expect(await at(partition({ records: 12 }), partition({ partition: 1, records: 2 }))).toBe('records_total{mirror="m"} 19')
  })

  it('keeps registries apart and has the process in it', async () => {
    const [a, b] = [createMetrics({ snapshot: () => runner([]) }), createMetrics({ snapshot: () => runner([]) })]
    expect(await a.render()).toMatch(/^process_cpu_seconds_total \d/m)
    expect(await b.render()).toMatch(/^process_resident_memory_bytes \d{6,}/m)
  })
})
