import { At, patchForAppend } from '../records/index.js'
import { varint } from '../records/varint.js'

export interface SampleRecord {
  readonly key: string
  readonly value: string
}

const NO_PRODUCER = { producerId: -1n, producerEpoch: -1, baseSequence: -1 }

/** An uncompressed v2 batch of text records that all carry the same timestamp (milliseconds), as any producer may send it. */
export function encodeBatch(records: readonly SampleRecord[], timestamp: number): Buffer {
  const bodies = records.map((record, delta) => encodeRecord(record, delta))
  const batch = Buffer.concat([Buffer.alloc(At.records), ...bodies])
  batch.writeInt32BE(batch.length - At.leaderEpoch, At.batchLength)
  batch.writeInt8(2, At.magic)
  batch.writeInt32BE(records.length - 1, At.lastOffsetDelta)
  batch.writeBigInt64BE(BigInt(timestamp), At.baseTimestamp)
  batch.writeBigInt64BE(BigInt(timestamp), At.maxTimestamp)
  batch.writeInt32BE(records.length, At.count)
  patchForAppend(batch, NO_PRODUCER)
  return batch
}

/** Attributes, timestamp delta, offset delta, key, value, no headers; the length in front. */
function encodeRecord(record: SampleRecord, delta: number): Buffer {
  const key = Buffer.from(record.key)
  const value = Buffer.from(record.value)
  const body = Buffer.concat([Buffer.of(0), varint(0), varint(delta), varint(key.length), key, varint(value.length), value, varint(0)])
  return Buffer.concat([varint(body.length), body])
}

/** An order as some shop might write it. */
export function sampleOrder(id: number, random: () => number): SampleRecord {
  const customer = `customer-${Math.floor(random() * 500)}`
  const amount = Math.round(random() * 20_000) / 100
  const status = ['placed', 'paid', 'shipped'][Math.floor(random() * 3)]
  return { key: customer, value: JSON.stringify({ order: id, customer, amount, status }) }
}

/** A customer of that shop. */
export function sampleCustomer(id: number, random: () => number): SampleRecord {
  const key = `customer-${id % 500}`
  return { key, value: JSON.stringify({ name: key, visits: Math.floor(random() * 100) }) }
}
