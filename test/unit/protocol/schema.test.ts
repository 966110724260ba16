import { describe, expect, it } from 'vitest'
import { encodeRequest, Fetch, NO_UUID, OffsetFetch, ProtocolError } from '../../../src/protocol/index.js'
import { Reader } from '../../../src/protocol/reader.js'
import {
  arrayOfString,
  type Fields,
  int32,
  records,
  type StructType,
  string,
  struct,
  structOf,
  uuid,
} from '../../../src/protocol/schema.js'
import { Writer } from '../../../src/protocol/writer.js'

const write = (layout: StructType<Fields>, value: object, version = 0, flexible = false) => {
  const writer = new Writer()
  layout.write(writer, value, version, flexible)
  return Buffer.concat(writer.finish())
}

describe('a nullable struct', () => {
  const layout = struct({ point: structOf('0+', { x: int32('0+') }, { nullable: '1+', default: null }) })

  it('is preceded by a presence byte, only in versions where it may be null', () => {
    expect(write(layout, { point: { x: 7 } }, 0).toString('hex')).toBe('00000007')
    expect(write(layout, { point: { x: 7 } }, 1).toString('hex')).toBe('0100000007')
    expect(write(layout, { point: null }, 1).toString('hex')).toBe('ff')
  })

  it.each([
    [0, '00000007', { x: 7 }],
    [1, '0100000007', { x: 7 }],
    [1, 'ff', null],
  ])('is read in version %i from %s', (version, hex, point) => {
    expect(layout.read(new Reader(Buffer.from(hex, 'hex')), version, false)).toEqual({ point })
  })
})

describe('null', () => {
  const layout = struct({ name: string('0+', { nullable: '1+' }), tags: arrayOfString('1+', { default: [] }) })

  it('is refused where the version does not allow it', () => {
    expect(() => write(layout, { name: null }, 0)).toThrow(ProtocolError)
    expect(() => layout.read(new Reader(Buffer.from('ffff', 'hex')), 0, false)).toThrow(/name is null in version 0/)
  })

  it('is refused as an element of an array', () => {
    expect(() => layout.read(new Reader(Buffer.from('ffff00000001ffff', 'hex')), 1, false)).toThrow(ProtocolError)
  })

  it('is refused by an API whose version cannot ask for everything', () => {
    expect(() => encodeRequest(OffsetFetch, 1, { groupId: 'g', topics: null, groups: [] })).toThrow(/topics may not be null in version 1/)
  })
})

describe('tagged fields', () => {
  const tagged = { tag: 0, taggedVersions: '0+' } as const
  const older = struct({})
  const newer = struct({ names: arrayOfString('0+', { ...tagged, default: [] }) })

  it('that a reader does not know are skipped', () => {
    const bytes = write(newer, { names: ['a', 'b'] }, 0, true)
    const reader = new Reader(bytes)
    expect(older.read(reader, 0, true)).toEqual({})
    expect(reader.remaining).toBe(0)
  })

  it('that hold their default are left out, empty lists and structs of defaults too', () => {
    expect(write(newer, { names: [] }, 0, true).toString('hex')).toBe('00')
    const layout = struct({ leader: structOf('0+', { id: int32('0+', { default: -1 }) }, { ...tagged, default: {} }) })
    expect(write(layout, { leader: { id: -1 } }, 0, true).toString('hex')).toBe('00')
    expect(layout.read(new Reader(Buffer.from('00', 'hex')), 0, true)).toEqual({ leader: { id: -1 } })
  })

  it('cannot reach beyond the length that they state', () => {
    expect(() => newer.read(new Reader(Buffer.from('0100010300000000', 'hex')), 0, true)).toThrow(ProtocolError)
  })
})

describe('values that cannot be written', () => {
  it.each(['', '1234', 'not a uuid'])('uuid %j', (id) => {
    expect(() => write(struct({ id: uuid('0+') }), { id })).toThrow(ProtocolError)
  })

  it('a string longer than its length field can say', () => {
    expect(() => write(struct({ name: string('0+') }), { name: 'x'.repeat(0x8000) })).toThrow(ProtocolError)
  })
})

describe('record sets', () => {
  it('are written and read without copying', () => {
    const layout = struct({ records: records('0+') })
    const part = Buffer.from('batch')
    const writer = new Writer()
    layout.write(writer, { records: [part] } as object, 0, false)
    expect(writer.finish()).toContain(part)
    const body = Buffer.from('000000056261746368', 'hex')
    const read = layout.read(new Reader(body), 0, false) as { records: Buffer }
    expect(read.records.buffer).toBe(body.buffer)
  })

  it('that are null are read as empty', () => {
    const read = struct({ records: records('0+') }).read(new Reader(Buffer.from('ffffffff', 'hex')), 0, false)
    expect(read).toEqual({ records: Buffer.alloc(0) })
  })
})

it('a fetch asks by name before version 13 and by id from then on', () => {
  const topicId = '01234567-89ab-cdef-fedc-ba9876543210'
  const topics = [{ topic: 'orders', topicId, partitions: [] }]
  const hexOf = (version: number) => Buffer.concat(encodeRequest(Fetch, version, { maxWaitMs: 0, minBytes: 0, topics })).toString('hex')
  const name = Buffer.from('orders').toString('hex')
  expect([hexOf(12).includes(name), hexOf(13).includes(name)]).toEqual([true, false])
  expect([hexOf(12), hexOf(13)].map((hex) => hex.includes(topicId.replaceAll('-', '')))).toEqual([false, true])
  expect(hexOf(12)).not.toContain(NO_UUID.replaceAll('-', ''))
})
