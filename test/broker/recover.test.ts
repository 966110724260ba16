import { beforeAll, expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { beginTransaction, endTransaction, writeLog, writeRecords } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { foreign, Recovering } from '../support/recovering.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)
const { mirrored, recover, program, failed } = new Recovering(brokers, mirroring)

beforeAll(async () => {
  await mirroring.create()
  await mirroring.startRunner({ http: true })
})

const runner = () => mirroring.runners.at(-1)!
const stopRunner = () => runner().kill()

test('who keeps a partition waiting is named by describe and the metrics, until the transaction is over', async () => {
  const { source, worker } = brokers
  await mirrored('waiting', 2, 20)
  await beginTransaction(worker, source, 'left-open')
  await writeLog(worker, source, { topic: 'waiting', transactionalId: 'left-open', records: 5 })
  await writeLog(worker, source, { topic: 'waiting', records: 10, partitions: 2 })
  const shown = async () => (await mirroring.admin.describeMirrors(['m'], { topics: ['waiting'] })).partitions
  const [held, free] = await eventually(async () => {
    const rows = await shown()
    return rows[0]?.openTransaction !== undefined && rows
  })
  expect(held).toMatchObject({
    state: 'MIRRORING',
    destinationOffset: 10n,
    lastStableOffset: 10n,
    lag: 10n,
    openTransaction: { firstOffset: 10n },
  })
  expect(Math.abs(Date.now() - held!.openTransaction!.lastWriteAt)).toBeLessThan(60_000)
  expect(free!.openTransaction).toBeUndefined()
  const { producerId } = held!.openTransaction!
  const series = `kafka_mirrors_open_transaction_seconds{mirror="m",topic="waiting",partition="0",producer_id="${producerId}"}`
  await eventually(async () => (await runner().metrics()).includes(series), { within: 20_000 })
  expect(runner().said(new RegExp(`waits at offset 10 for the open transaction of producer ${producerId} `))).toBeDefined()
  await endTransaction(worker, 'left-open', 'abort')
  await mirroring.caughtUp('waiting')
  expect((await shown()).map(({ openTransaction }) => openTransaction)).toEqual([undefined, undefined])
  expect(await runner().metrics()).not.toContain('kafka_mirrors_open_transaction_seconds{')
  expect(await mirroring.differences('waiting')).toEqual([])
})

test('a gap is shown, and recorded for the one partition that was asked for', async () => {
  const { source } = brokers
  await mirrored('gap', 2)
  await stopRunner()
  // Two batches for each, of which the first goes.
  for (let i = 0; i < 2; i++) await writeLog(brokers.worker, source, { topic: 'gap', records: 200, partitions: 2 })
  for (const partition of [0, 1]) await source.admin.deleteRecords('gap', partition, 600n)
  // Nobody runs: what is wrong is seen in the logs.
  expect(await recover('gap', { dryRun: true })).toMatchObject(
    [0, 1].map((partition) => ({
      partition,
      problem: 'gap',
      wanted: 500n,
      available: 600n,
      lost: { from: 500n, to: 599n },
      action: 'none',
      needs: 'on-gap',
    })),
  )
  await mirroring.startRunner()
  const { message } = await failed('gap', 1)
  expect(message).toMatch(/offsets 500 to 599 \(100\) are lost.*kafka-mirrors recover --mirror m --topic gap --partition 1 --on-gap record/)
  await failed('gap', 0)
  expect(await recover('gap', { partitions: [1], onGap: 'record' })).toMatchObject([
    { partition: 1, state: 'FAILED', action: 'record-gap' },
  ])
  await mirroring.admin.waitForMirroring('m', new Map([['gap', [1]]]), 20_000)
  expect(await mirroring.status('gap', 1)).toMatchObject({ lostRanges: [{ from: 500n, to: 599n }], error: undefined })
  expect((await mirroring.status('gap', 0))?.state).toBe('FAILED')
  const shown = (await mirroring.admin.describeMirrors(['m'], { topics: ['gap'] })).partitions
  expect(shown.map(({ lostOffsets, lostRanges }) => [lostOffsets, lostRanges])).toEqual([
    [0n, []],
    [100n, [{ from: 500n, to: 599n }]],
  ])
  // As an operator types it, in the KIP's spelling.
  const stuck = await program('--topic', 'gap').ended
  expect([stuck.exitCode, stuck.stderr]).toEqual([1, 'kafka-mirrors: 1 partition(s) stay as they are without --on-gap=record\n'])
  const done = await program('--topic', 'gap', '--on-gap', 'record', '--wait=20s', '--no-headers').ended
  expect(done).toMatchObject({ exitCode: 0, stderr: '' })
  expect(done.stdout).toMatch(/^m +gap +0 +gap +500 +600 +500-599 +- +- +- +record-gap +- +offsets 500 to 599 are no longer on the source/)
  await mirroring.caughtUp('gap')
  expect(await mirroring.differences('gap')).toEqual([])
  expect(await recover('gap')).toEqual([])
})

test('a gap that has grown since is not passed over in silence', async () => {
  const { source } = brokers
  await mirrored('grown')
  await stopRunner()
  for (let i = 0; i < 4; i++) await writeLog(brokers.worker, source, { topic: 'grown', records: 50 })
  await source.admin.deleteRecords('grown', 0, 1_050n)
  expect(await recover('grown', { onGap: 'record' })).toMatchObject([{ action: 'record-gap', lost: { from: 1_000n, to: 1_049n } }])
  await source.admin.deleteRecords('grown', 0, 1_100n)
  await mirroring.startRunner()
  expect((await failed('grown')).message).toMatch(/offsets 1000 to 1099 \(100\) are lost \(the gap to be recorded was from 1000 to 1049/)
  await recover('grown', { onGap: 'record' })
  await mirroring.caughtUp('grown')
  expect(await mirroring.differences('grown')).toEqual([])
})

test('what differs is found at a log start inside a batch, and where consumers see nothing of a compacted source', async () => {
  const { source, destination, worker } = brokers
  await mirrored('inside', 1, 50)
  await source.admin.createTopic('dark', { configs: { 'cleanup.policy': 'compact' } })
  await writeLog(worker, source, { topic: 'dark', style: 'keyed', records: 20 })
  await mirroring.add('dark')
  await mirroring.caughtUp('dark')
  await stopRunner()
  await beginTransaction(worker, source, 'dark-id')
  await writeLog(worker, source, { topic: 'dark', style: 'keyed', transactionalId: 'dark-id', records: 1 })
  await endTransaction(worker, 'dark-id', 'abort')
  await writeLog(worker, source, { topic: 'dark', style: 'keyed', records: 5 })
  for (const topic of ['inside', 'dark']) await writeRecords(worker, destination, { topic, list: [foreign('foreign')] })
  await writeLog(worker, source, { topic: 'inside', records: 5 })
  await source.admin.deleteRecords('inside', 0, 5n)
  expect(await recover('dark', { dryRun: true })).toMatchObject([{ problem: 'divergence', differsFrom: 20n, divergedRecords: 1 }])
  const { topics, warnings } = await mirroring.admin.recoverMirror('m', { topics: ['inside'], dryRun: true, onDivergence: 'reseed' })
  expect(topics).toMatchObject([{ partitions: [{ problem: 'divergence', differsFrom: 50n, divergedRecords: 1, action: 'reseed' }] }])
  expect(warnings).toEqual([
    "topic inside: 5 offset(s) below the source's log start are neither copied again nor kept: 0 to 4 of partition 0",
  ])
  expect(await program('--topic', 'inside', '--partition', '99').ended).toMatchObject({
    exitCode: 1,
    stderr: 'kafka-mirrors: topic inside of mirror m has no partition 99 — see what it has with describe\n',
  })
})
