import { describe, expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { writeTransactionByHand } from '../support/hand-made-transaction.js'
import { writeLog, writeTransactions } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'

// Newer to older, and from a source so old that it knows topic ids in no Fetch request.
describe.each([
  { from: '4.4.0', to: '3.9.1' },
  { from: '2.8.2', to: '4.4.0' },
])('from $from to $to', ({ from, to }) => {
  const brokers = useBrokers({ source: { version: from }, destination: { version: to, properties: DESTINATION_PROPERTIES } })
  const mirroring = useMirroring(brokers)

  // KRaft's preview gives no producer ids: no idempotent producer, no transaction coordinator.
  const old = from.startsWith('2.')

  /** Three transactions over all partitions, the second of them aborted. */
  async function transactions(): Promise<void> {
    const { source, worker } = brokers
    if (!old) {
      const options = { transactionalId: 'copied', transactions: 3, records: 100, abortEvery: 2 }
      await writeTransactions(worker, source, { topic: 'copied', partitions: 4, ...options })
      return
    }
    for (const partition of [0, 1, 2, 3]) {
      for (const [i, commit] of [true, false, true].entries())
        await writeTransactionByHand(source.bootstrap, { topic: 'copied', partition, producerId: BigInt(4_000 + i), records: 25, commit })
    }
  }

  test('100,000 records in three codecs and transactions are the same on both sides', async () => {
    const { source, worker } = brokers
    const writing = old ? { ...source, properties: { 'enable.idempotence': 'false' } } : source
    await source.admin.createTopic('copied', { partitions: 4, configs: { 'retention.ms': '-1' } })
    for (const [seed, codec] of (['none', 'lz4'] as const).entries())
      await writeLog(worker, writing, { topic: 'copied', records: 33_000, partitions: 4, codec, seed, timestamp: 1_500_000_000_000 })
    await mirroring.create()
    await mirroring.startRunner()
    await mirroring.add('copied')
    await writeLog(worker, writing, { topic: 'copied', records: 34_000, partitions: 4, codec: 'zstd', seed: 3 })
    await transactions()
    await mirroring.caughtUp('copied')
    expect(await mirroring.differences('copied')).toEqual([])
    const ends = (await source.admin.offsets('copied')).map(({ endOffset }) => endOffset)
    // Three transactions of 25 records in every partition, each with its marker.
    expect(ends).toEqual(Array(4).fill(25_000n + 75n + 3n))
  })
})
