import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeAssignment, decodeOwned, encodeAssignment, encodeSubscription } from '../../../src/client/consumer-protocol.js'

const name = fc.string({ minLength: 1, maxLength: 20 })
const topicPartitions = fc.array(fc.record({ topic: name, partitions: fc.array(fc.nat(), { maxLength: 8 }) }), { maxLength: 4 })

/** `ConsumerProtocolSubscription.json`, versions 0 to 3, and `ConsumerProtocolAssignment.json` written by hand. */
const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff])
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
const text = (value: string) => Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)])
const list = <T>(items: readonly T[], write: (item: T) => Buffer) => Buffer.concat([int32(items.length), ...items.map(write)])
const owned = (items: ReadonlyArray<{ topic: string; partitions: readonly number[] }>) =>
  list(items, ({ topic, partitions }) => Buffer.concat([text(topic), list(partitions, int32)]))

describe('what members of a classic group tell each other', () => {
  it('survives the round trip', () => {
    fc.assert(
      fc.property(fc.array(name), topicPartitions, (topics, held) => {
        expect(decodeOwned(encodeSubscription(topics, held))).toEqual(held)
        expect(decodeAssignment(encodeAssignment(held))).toEqual(held)
      }),
    )
  })

  it('has the layout of Kafka’s own consumers', () => {
    const held = [{ topic: 'tö', partitions: [0, 49] }]
    expect(encodeSubscription(['tö'], held)).toEqual(Buffer.concat([int16(1), list(['tö'], text), int32(-1), owned(held)]))
    expect(encodeAssignment(held)).toEqual(Buffer.concat([int16(1), owned(held), int32(-1)]))
  })

  it('is read from members that speak older and newer versions, with user data', () => {
    const held = [{ topic: 't', partitions: [3] }]
    const userData = Buffer.concat([int32(5), Buffer.from('hello')])
    const from = (version: number, ...tail: Buffer[]) => Buffer.concat([int16(version), list(['t'], text), userData, ...tail])
    expect(decodeOwned(from(0))).toEqual([])
    expect(decodeOwned(from(1, owned(held)))).toEqual(held)
    // Version 2 adds the generation, version 3 the rack.
    expect(decodeOwned(from(2, owned(held), int32(9)))).toEqual(held)
    expect(decodeOwned(from(3, owned(held), int32(9), int16(-1)))).toEqual(held)
  })

  it('is nothing for a member without partitions', () => {
    expect(decodeAssignment(Buffer.alloc(0))).toEqual([])
    expect(decodeAssignment(encodeAssignment([]))).toEqual([])
  })
})
