import { encodeBatch as encodeRecords } from '../records/record-codec.js'

export interface SampleRecord {
  readonly key: string
  readonly value: string
}

/** An uncompressed v2 batch of text records that all carry the same timestamp (milliseconds), as each producer may send it. */
export const encodeBatch = (records: readonly SampleRecord[], timestamp: number): Buffer =>
  encodeRecords(
    records.map(({ key, value }) => ({ key: Buffer.from(key), value: Buffer.from(value) })),
    { timestamp: BigInt(timestamp) },
  )

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
