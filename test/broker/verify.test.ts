import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { WriteTxnMarkers } from '../../src/protocol/api/write-txn-markers.js'
import type { VerifyMirrorOptions } from '../../src/service/index.js'
import { type TestBroker, useBrokers } from '../support/brokers.js'
import { schemaErrors } from '../support/json-schema.js'
import {
  beginTransaction,
  endTransaction,
  readLog,
  type SpelledRecord,
  writeLog,
  writeRecords,
  writeSteadily,
  writeTransactions,
} from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { projectRoot, runProgram, startProgram } from '../support/program.js'
import { TcpProxy } from '../support/proxy.js'
import { eventually } from '../support/wait.js'

const CLEANER = { 'log.cleaner.backoff.ms': '500' }
const brokers = useBrokers({ source: { properties: CLEANER }, destination: { properties: { ...CLEANER, ...DESTINATION_PROPERTIES } } })
/** Copied by a runner. */
const mirroring = useMirroring(brokers)
/** Copied by nobody: both sides are written by Kafka's own producer, so that each difference is known. */
const byHand = useMirroring(brokers, { mirror: 'by-hand' })

beforeAll(async () => {
  await mirroring.create()
  await byHand.create()
  await mirroring.startRunner({ mirrors: [mirroring.mirror] })
})

const NOW = Date.now() - 60_000
const hex = (text: string) => Buffer.from(text).toString('hex')
const record = (i: number, change: Partial<SpelledRecord> = {}): SpelledRecord => ({
  partition: 0,
  timestamp: NOW + i,
  key: hex(`k${i}`),
  value: hex(`v${i}`),
  headers: [['h', hex('1')]],
  ...change,
})
const records = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => record(from + i))
const write = (to: TestBroker, topic: string, list: readonly SpelledRecord[], transactionalId?: string) =>
  writeRecords(brokers.worker, to, { topic, list, ...(transactionalId === undefined ? {} : { transactionalId }) })

/** A topic of the mirror that nobody copies, with these records on each side. */
async function topicOf(topic: string, source: readonly SpelledRecord[], destination: readonly SpelledRecord[] = source): Promise<void> {
  await brokers.source.admin.createTopic(topic)
  await byHand.add(topic)
  if (source.length > 0) await write(brokers.source, topic, source)
  if (destination.length > 0) await write(brokers.destination, topic, destination)
}

async function verified(topic: string, options: VerifyMirrorOptions = {}) {
  const { partitions, equal, warnings } = await byHand.admin.verifyMirror(byHand.mirror, { topics: [topic], ...options })
  expect(equal).toBe(partitions.every(({ result }) => result === 'equal'))
  const [partition] = partitions
  const lines = partition!.differences.map(({ offset, kind, message }) => `${offset} ${kind}: ${message}`)
  return { ...partition!, lines, warnings }
}

/** The answer to the end of a transaction comes before its marker is in the log. */
async function endsAt(side: TestBroker, topic: string, end: bigint): Promise<void> {
  await eventually(async () => (await side.admin.offsets(topic))[0]!.endOffset === end, { what: `The end of ${topic} at ${end}` })
}

/** A control record that belongs to no transaction, as the mirror fills offsets. */
async function writeMarkers(to: TestBroker, topic: string, count: number): Promise<void> {
  const cluster = new Cluster(clientConfigOf(new Map([['bootstrap.servers', to.bootstrap]])).config)
  const marker = {
    producerId: 4242n,
    producerEpoch: 0,
    transactionResult: true,
    topics: [{ name: topic, partitionIndexes: [0] }],
    coordinatorEpoch: 0,
  }
  try {
    await cluster.leader(topic, 0, WriteTxnMarkers, { markers: Array.from({ length: count }, () => marker) })
  } finally {
    await cluster.close()
  }
}

const call = (...words: string[]) => runProgram('verbs', ['verify', '--bootstrap-server', brokers.destination.bootstrap, ...words])

describe('what a runner copied', () => {
  test('is equal: every codec, transactions, an empty topic; what is not copied yet is lag', async () => {
    const { source, worker } = brokers
    for (const [topic, partitions] of [
      ['varied', 3],
      ['paid', 1],
      ['empty', 2],
    ] as const)
      await source.admin.createTopic(topic, { partitions })
    for (const [seed, codec] of (['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const).entries())
      await writeLog(worker, source, { topic: 'varied', records: 3_000, partitions: 3, codec, seed })
    await writeTransactions(worker, source, { topic: 'paid', transactionalId: 'payer', records: 10, transactions: 30, abortEvery: 3 })
    await endsAt(source, 'paid', 330n)
    await mirroring.add('varied', 'paid', 'empty')
    for (const topic of ['varied', 'paid']) await mirroring.caughtUp(topic)
    const result = await mirroring.admin.verifyMirror(mirroring.mirror)
    expect(result).toMatchObject({ equal: true, seed: undefined, warnings: [] })
    expect(result.partitions.map(({ topic, partition, records, from, to, lag }) => [topic, partition, records, from, to, lag])).toEqual([
      ['empty', 0, 0n, 0n, 0n, 0n],
      ['empty', 1, 0n, 0n, 0n, 0n],
      ['paid', 0, 200n, 0n, 330n, 0n],
      ...[0, 1, 2].map((partition) => ['varied', partition, 5_000n, 0n, 5_000n, 0n]),
    ])
    // An open transaction is lag: what is below it is compared.
    await beginTransaction(worker, source, 'open')
    await write(source, 'paid', records(0, 5), 'open')
    const open = await mirroring.admin.verifyMirror(mirroring.mirror, { topics: ['pai.*'] })
    await endTransaction(worker, 'open', 'abort')
    expect(open).toMatchObject({ equal: true, partitions: [{ topic: 'paid', to: 330n, lag: 5n }] })
  })

  test('is equal while more is written, and while the logs begin later', async () => {
    const { source, destination, worker } = brokers
    await source.admin.createTopic('busy', { partitions: 2 })
    await mirroring.add('busy')
    const writer = await writeSteadily(worker, source, { topic: 'busy', partitions: 2, recordsPerSecond: 1_000 })
    const verify = () => mirroring.admin.verifyMirror(mirroring.mirror, { topics: ['busy'] })
    const atLeast = (end: bigint) =>
      eventually(async () => (await destination.admin.offsets('busy')).every(({ endOffset }) => endOffset > end), { within: 30_000 })
    for (const end of [100n, 500n]) {
      await atLeast(end)
      const { equal, partitions } = await verify()
      expect({ equal, few: partitions.filter(({ records }) => records < end) }).toEqual({ equal: true, few: [] })
    }
    await writer.stop()
    // The runner moves the destination's start up, and is given the time for it.
    await source.admin.deleteRecords('busy', 0, 400n)
    expect(await verify()).toMatchObject({ equal: true, partitions: [{ sourceStart: 400n, from: 400n }, { from: 0n }], warnings: [] })
    expect((await destination.admin.offsets('busy'))[0]).toMatchObject({ beginningOffset: 400n })
  })

  test('is told on the command line, in both spellings, and as JSON', async () => {
    const { destination } = brokers
    const plain = await call('--mirror', mirroring.mirror, '--topic', 'varied')
    expect(plain).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^kafka-mirrors: mirror m: 3 of 3 partition\(s\) equal; 15000 record/),
    })
    expect(plain.stdout.split('\n')[1]).toMatch(/^m +varied +0 +0 +5000 +5000 +0 +0 +equal$/)
    const kip = await runProgram('kip', [
      '--bootstrap-server',
      destination.bootstrap,
      '--verify',
      '--mirror',
      mirroring.mirror,
      '--topic',
      'varied',
    ])
    expect(kip).toMatchObject({ exitCode: 0, stdout: plain.stdout })
    const json = await call('--mirror', mirroring.mirror, '--json')
    expect(json).toMatchObject({ exitCode: 0, stderr: '' })
    const schema = JSON.parse(readFileSync(`${projectRoot}docs/schemas/verify.json`, 'utf8'))
    expect(schemaErrors(schema, JSON.parse(json.stdout))).toEqual([])
  })

  test('can be looked at in part: a range, or a sample that can be taken again', async () => {
    const verify = (options: VerifyMirrorOptions) => mirroring.admin.verifyMirror(mirroring.mirror, { topics: ['varied'], ...options })
    const range = await verify({ from: 100n, to: 250n })
    expect(range.partitions.map(({ from, to, records }) => [from, to, records])).toEqual([0, 1, 2].map(() => [100n, 250n, 150n]))
    const beyond = await call('--mirror', mirroring.mirror, '--topic', 'varied', '--from', '99999999')
    expect(beyond.exitCode).toBe(0)
    expect(beyond.stderr).toMatch(
      /nothing was compared of varied-0 \(offsets \d+ to \d+ can be\), varied-1 .*: no offset from 99999999 is on both sides/,
    )
    await expect(verify({ from: 2n ** 63n })).rejects.toMatchObject({ kind: 'usage' })
    await expect(verify({ to: 2n ** 63n })).rejects.toMatchObject({ kind: 'usage' })
    const sample = await verify({ sample: 1 })
    expect(sample).toMatchObject({ equal: true, seed: expect.any(Number) })
    for (const { offsets } of sample.partitions) expect(offsets).toBeLessThanOrEqual(3_000n)
    const again = await verify({ sample: 1, seed: sample.seed! })
    expect(again.partitions.map(({ offsets }) => offsets)).toEqual(sample.partitions.map(({ offsets }) => offsets))
  })
})

describe('a difference', () => {
  test('of a value, a key, a header or a time is found and told in one line', async () => {
    const changed = records(0, 50)
    changed[7] = record(7, { value: hex('other') })
    changed[20] = record(20, { key: null })
    changed[21] = record(21, { headers: [['h', null]] })
    changed[49] = record(49, { timestamp: NOW })
    await topicOf('changed', records(0, 50), changed)
    const { lines, result, records: count } = await verified('changed')
    expect(lines).toEqual([
      '7 record: value "v7" on the source, "other" on the destination',
      '20 record: key "k20" on the source, null on the destination',
      '21 record: header 1 "h"="1" on the source, "h"=null on the destination',
      `49 record: timestamp ${NOW + 49} on the source, ${NOW} on the destination`,
    ])
    expect([result, count]).toEqual(['different', 50n])
    const { exitCode, stdout, stderr } = await call('--mirror', byHand.mirror, '--topic', 'changed')
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/^by-hand +changed +0 +0 +50 +50 +4 +0 +different$/m)
    expect(stderr.split('\n')[0]).toBe(
      'kafka-mirrors: changed-0 at offset 7: differs: value "v7" on the source, "other" on the destination',
    )
  })

  test('is a record that is missing, and one that is too many', async () => {
    await topicOf('missing', records(0, 10), records(0, 4))
    await writeMarkers(brokers.destination, 'missing', 1)
    await write(brokers.destination, 'missing', records(5, 10))
    expect((await verified('missing')).lines).toEqual([
      `4 missing: missing on the destination; the source has key "k4", value "v4", timestamp ${NOW + 4}`,
    ])
    await topicOf('foreign', records(0, 5), records(0, 6))
    const foreign = await verified('foreign')
    expect(foreign.lines).toEqual(["6 end: the destination's log ends here, the source's log ends at 5"])
    expect(foreign).toMatchObject({ result: 'different', to: 5n, lag: 0n })
  })

  test('is aborted data, and data of any transaction, on the destination', async () => {
    const { source, destination, worker } = brokers
    await topicOf('aborted', records(0, 3))
    for (const [side, id] of [
      [source, 'there'],
      [destination, 'here'],
    ] as const) {
      await beginTransaction(worker, side, id)
      await write(side, 'aborted', [record(3)], id)
      await endTransaction(worker, id, 'abort')
      await endsAt(side, 'aborted', 5n)
      await write(side, 'aborted', [record(5)])
    }
    const seen = `key "k3", value "v3", timestamp ${NOW + 3}`
    const extra = `3 extra: only on the destination: ${seen}; the source shows consumers nothing there`
    const { lines } = await verified('aborted')
    expect(lines).toEqual([expect.stringMatching(/^3 transactional: data of a transaction is on the destination \(producer \d+\)$/), extra])
    // Written plainly there it is no better.
    await topicOf('plainly-aborted', [], [...records(0, 4)])
    await write(source, 'plainly-aborted', records(0, 3))
    await beginTransaction(worker, source, 'again')
    await write(source, 'plainly-aborted', [record(3)], 'again')
    await endTransaction(worker, 'again', 'abort')
    await endsAt(source, 'plainly-aborted', 5n)
    await writeMarkers(destination, 'plainly-aborted', 1)
    expect((await verified('plainly-aborted')).lines).toEqual([extra])
  })

  test('is a destination that begins later than it may', async () => {
    const { source, destination } = brokers
    await topicOf('start', records(0, 20))
    await destination.admin.deleteRecords('start', 0, 10n)
    expect((await verified('start')).lines).toEqual(["10 start: the destination's log starts here, the source has a record at offset 0"])
    await source.admin.deleteRecords('start', 0, 15n)
    // Nobody is there to move the destination's: that is said, and no difference.
    const behind = await verified('start')
    expect(behind).toMatchObject({ result: 'equal', from: 15n, records: 5n, sourceStart: 15n, destinationStart: 10n })
    expect(behind.warnings).toEqual([expect.stringContaining("start-0: the source's log starts later by now")])
  })
})

describe('a compacted topic', () => {
  const COMPACT = {
    'cleanup.policy': 'compact',
    'segment.ms': '100',
    'min.cleanable.dirty.ratio': '0.001',
    'min.compaction.lag.ms': '0',
    'delete.retention.ms': '100',
  }

  /** Waits until the cleaner has been there. */
  async function cleaned(side: TestBroker, topic: string, below: number): Promise<void> {
    await eventually(async () => (await readLog(brokers.worker, side, { topic, content: 'none' }))[0]!.count < below, {
      within: 40_000,
      every: 300,
      what: `Cleaning ${topic}`,
    })
  }

  test.each(['source', 'destination'] as const)('that only the %s has cleaned is equal, unless a key is lost', async (side) => {
    const topic = `compacted-${side}`
    const keyed = Array.from({ length: 40 }, (_, i) => record(i, { key: hex(`key ${i % 8}`), value: i === 33 ? null : hex(`v${i}`) }))
    // Segments roll when a record is that much younger than their first.
    const more = [record(40, { key: hex('last'), timestamp: NOW + 10_000 })]
    await topicOf(topic, keyed)
    await brokers[side].admin.alterTopicConfigs(topic, COMPACT)
    for (const each of [brokers.source, brokers.destination]) await write(each, topic, more)
    await cleaned(brokers[side], topic, 41)
    const outcome = await verified(topic)
    expect(outcome.lines).toEqual([])
    expect(outcome.superseded).toBeGreaterThan(0n)
    // One side has another value for a key that is still there.
    await write(brokers.source, topic, [record(41, { key: hex('last') })])
    await write(brokers.destination, topic, [record(41, { key: hex('lost') })])
    expect((await verified(topic)).lines).toEqual(['41 record: key "last" on the source, "lost" on the destination'])
  })
})

describe('a topic', () => {
  test('that was removed is compared up to where it was left, if it is named', async () => {
    await topicOf('removed', records(0, 30))
    const { topics } = await byHand.admin.removeTopicsFromMirror(byHand.mirror, ['removed'], { confirmationTimeoutMs: 100 })
    expect(topics).toMatchObject([{ ok: true }])
    await write(brokers.destination, 'removed', [record(99)])
    await write(brokers.source, 'removed', records(30, 50))
    expect(await verified('removed')).toMatchObject({ result: 'equal', to: 30n, records: 30n, lag: undefined })
    const all = await byHand.admin.verifyMirror(byHand.mirror, { topics: ['re.*', 'start'] }).catch((error) => error)
    expect(all).toMatchObject({ code: 'TOPIC_NOT_MIRRORED' })
  })

  test('that was made anew on the source cannot be compared, and the others are', async () => {
    const { source } = brokers
    await topicOf('anew', records(0, 5))
    await topicOf('kept', records(0, 5))
    await source.admin.deleteTopic('anew')
    await eventually(() => source.admin.createTopic('anew').then(() => true))
    const { partitions } = await byHand.admin.verifyMirror(byHand.mirror, { topics: ['anew', 'kept'] })
    expect(partitions).toMatchObject([
      {
        topic: 'anew',
        result: 'failed',
        error: { code: 'TOPIC_RECREATED', message: expect.stringContaining('created again on the source') },
      },
      { topic: 'kept', result: 'equal', records: 5n },
    ])
  })

  test('or mirror that is not there is one clear line', async () => {
    expect(await call('--mirror', byHand.mirror, '--topic', 'nowhere')).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'kafka-mirrors: mirror by-hand has no topic nowhere\n',
    })
    expect(await call('--mirror', 'nobody')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('there is no mirror nobody') })
    expect(await call('--mirror', byHand.mirror, '--from', '9', '--to', '3')).toMatchObject({ exitCode: 2 })
  })
})

test('a source that is away is said in one line, and Ctrl-C does not wait for one that says nothing', async () => {
  const { source, destination } = brokers
  const proxy = await TcpProxy.listen({ host: '127.0.0.1', port: Number(source.bootstrap.split(':')[1]) })
  try {
    await byHand.admin.createMirror('behind', { 'bootstrap.servers': proxy.address })
    const { accepted } = proxy
    proxy.stall()
    const words = ['verify', '--bootstrap-server', destination.bootstrap, '--mirror', 'behind']
    const program = startProgram('verbs', words)
    await eventually(() => proxy.accepted > accepted)
    program.child.kill('SIGINT')
    expect(await program.ended).toMatchObject({ exitCode: 130, stdout: '', stderr: '' })
    await proxy.refuse()
    const outcome = await runProgram('verbs', words)
    expect(outcome).toMatchObject({ exitCode: 1, stdout: '' })
    expect(outcome.stderr).toMatch(/^kafka-mirrors: the source of mirror behind is out of reach: [^\n]*\n$/)
  } finally {
    await proxy.close()
  }
})
