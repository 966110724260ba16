import v8 from 'node:v8'
import vm from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { compareTails, OWN_TAIL, unknownTail } from '../../../src/engine/compare-tails.js'
import { NO_UUID } from '../../../src/protocol/schema.js'
import { type LogRecord, markerRecord, writeBatch, writeOldMessages } from '../../support/batch-writer.js'

const TIME = 1_700_000_000_000n
const record = (value: string | null, key: string | null = null, headers: LogRecord['headers'] = []): LogRecord => ({
  timestamp: TIME,
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers,
})

/** One batch for each of these offsets. */
const plain = (records: Readonly<Record<number, LogRecord>>) =>
  Object.entries(records).map(([offset, each]) => writeBatch({ baseOffset: BigInt(offset), lastOffsetDelta: 0, records: [[0, each]] }))

type FetchCall = [topic: string, partition: number, api: unknown, request: { topics: { partitions: { fetchOffset: bigint }[] }[] }]

/** A side that gives out so many batches with one fetch. */
function side(batches: readonly Buffer[], { aborted = [] as { producerId: bigint; firstOffset: bigint }[], perFetch = 2 } = {}) {
  const offsetAfter = (batch: Buffer) => batch.readBigInt64BE(0) + BigInt(batch[16] === 2 ? batch.readInt32BE(23) : 0) + 1n
  const leader = async (...[, , , request]: FetchCall) => {
    const { fetchOffset } = request.topics[0]!.partitions[0]!
    const records = Buffer.concat(batches.filter((batch) => offsetAfter(batch) > fetchOffset).slice(0, perFetch))
    return { errorCode: 0, responses: [{ partitions: [{ errorCode: 0, records, abortedTransactions: aborted }] }] }
  }
  return { leader } as unknown as Cluster
}

const IDS = { source: NO_UUID, destination: NO_UUID }
const compare = (source: Cluster, destination: Cluster, end: bigint, how = unknownTail()) =>
  compareTails(source, destination, 't', 0, IDS, 0n, end, how)

describe('the last records of a log', () => {
  it('are the same in other batches and formats', async () => {
    const records = { 0: record('a', 'k'), 1: record(null, ''), 2: record('', null) }
    const rows = Object.values(records).map((each, delta) => [delta, each] as const)
    const packed = writeBatch({ baseOffset: 0n, lastOffsetDelta: 2, records: rows, codec: 'gzip' })
    const old = writeOldMessages({ magic: 1, codec: 'snappy', records: rows.map(([delta, each]) => [BigInt(delta), each]) })
    await compare(side(plain(records)), side([packed]), 3n)
    await compare(side(old), side(plain(records)), 3n)
  })

  it.each<[string, LogRecord, LogRecord]>([
    ['a time', record('a'), { ...record('a'), timestamp: TIME + 1n }],
    ['null', record(null), record('')],
    ['where key and value meet', record('bc', 'a'), record('c', 'ab')],
    [
      'where a header ends',
      record('a', null, [[Buffer.from('h'), Buffer.from('i')]]),
      record('a', null, [[Buffer.from('hi'), Buffer.alloc(0)]]),
    ],
    [
      'one header or two',
      record('a', null, [[Buffer.from('h'), null]]),
      record('a', null, [
        [Buffer.from('h'), null],
        [Buffer.from('h'), null],
      ]),
    ],
    ['a header’s name that is not UTF-8', record('a', null, [[Buffer.of(0xff), null]]), record('a', null, [[Buffer.of(0xfe), null]])],
  ])('differ by %s', async (_, one, other) => {
    for (const how of [unknownTail(), unknownTail('compact'), OWN_TAIL])
      await expect(compare(side(plain({ 0: one })), side(plain({ 0: other })), 1n, how)).rejects.toThrow(
        "record at offset 0 is not the source's",
      )
  })

  it('are not kept while they are compared, however large they are', async () => {
    v8.setFlagsFromString('--expose-gc')
    const collect = vm.runInNewContext('gc') as () => void
    const held = () => {
      collect()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const template = writeBatch({ baseOffset: 0n, lastOffsetDelta: 0, records: [[0, record('v'.repeat(1 << 20))]] })
    const END = 40n
    let atEnd = 0
    const leader = async (...[, , , request]: FetchCall) => {
      const { fetchOffset } = request.topics[0]!.partitions[0]!
      if (fetchOffset === END - 1n) atEnd = Math.max(atEnd, held())
      const records = Buffer.from(template)
      // No checksum covers it.
      records.writeBigInt64BE(fetchOffset, 0)
      return { errorCode: 0, responses: [{ partitions: [{ errorCode: 0, records, abortedTransactions: null }] }] }
    }
    const before = held()
    await compare({ leader } as unknown as Cluster, { leader } as unknown as Cluster, END)
    expect(atEnd - before).toBeLessThan(16 << 20)
  })

  it('may lack what a later record of the key replaced, where a side is compacted', async () => {
    const all = { 0: record('a', 'k'), 1: record('b', 'other'), 2: record(null, 'gone'), 3: record('no key'), 4: record('c', 'k') }
    const cleaned = { 1: all[1], 4: all[4] }
    for (const policy of ['compact', 'delete,compact', 'compact, delete']) {
      await compare(side(plain(all)), side(plain(cleaned)), 5n, unknownTail('delete', policy))
      await compare(side(plain(cleaned)), side(plain(all)), 5n, unknownTail(policy, undefined))
    }
    await expect(compare(side(plain(all)), side(plain(cleaned)), 5n, unknownTail('delete', null))).rejects.toThrow(
      'has a record at offset 0',
    )
    await expect(compare(side(plain(cleaned)), side(plain(all)), 5n)).rejects.toThrow("record at offset 0 is not the source's")
  })

  it('may not lack the last one of a key on a compacted destination', async () => {
    const all = plain({ 0: record('a', 'k'), 1: record('b', 'other'), 2: record('c', 'k') })
    await expect(compare(side(all), side(plain({ 2: record('c', 'k') })), 3n, unknownTail('compact'))).rejects.toThrow(
      'the source has a record at offset 1, the destination has none',
    )
  })

  it('may show nothing only where the source shows nothing, and what shows nothing is not opened', async () => {
    const transactional = { producerId: 7n, producerEpoch: 0, baseSequence: 0, transactional: true }
    const good = plain({ 0: record('a') })
    // It says zstd, and is not.
    const broken = writeBatch({ baseOffset: 1n, lastOffsetDelta: 2, records: [[0, record('x')]], ...transactional, attributes: 0x10 | 4 })
    const marker = (offset: bigint) =>
      writeBatch({
        baseOffset: offset,
        lastOffsetDelta: 0,
        records: [[0, markerRecord(false, TIME)]],
        producerId: 7n,
        producerEpoch: 0,
        control: true,
        transactional: true,
      })
    const filled = [...good, marker(1n), marker(2n), marker(3n), marker(4n)]
    const source = side([...good, broken, marker(4n)], { aborted: [{ producerId: 7n, firstOffset: 1n }] })
    for (const how of [unknownTail(), unknownTail('compact'), OWN_TAIL]) {
      await compare(source, side(filled), 5n, how)
      const foreign = side([...good, marker(1n), ...plain({ 2: record('foreign') }), marker(3n), marker(4n)])
      await expect(compare(source, foreign, 5n, how)).rejects.toThrow("record at offset 2 is not the source's")
    }
  })
})
