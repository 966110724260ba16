import fc from 'fast-check'
import type { ArrayType, Field, Fields, StructType, Type } from '../../src/protocol/schema.js'
import { within } from '../../src/protocol/schema.js'

type Message = Record<string, unknown>

const integer = (bits: number) => fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 })
const buffer = fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes))

const PRIMITIVES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  bool: fc.boolean(),
  int8: integer(8),
  int16: integer(16),
  uint16: fc.nat(0xffff),
  int32: integer(32),
  uint32: fc.integer({ min: 0, max: 0xffffffff }),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  float64: fc.double({ noNaN: true }),
  string: fc.string({ unit: 'binary', maxLength: 5 }),
  uuid: fc.uuid(),
  bytes: buffer,
  records: fc.array(buffer, { maxLength: 3 }),
}

/**
 * Messages of a layout as a caller may give them in `version`. Fields that the version lacks have their default;
 * with `leaveOut`, fields that have a default are left out at times.
 */
export function arbitraryMessage(type: StructType<Fields>, version: number, leaveOut: boolean): fc.Arbitrary<Message> {
  const fields = Object.entries(type.fields).map(([name, field]) => [name, arbitraryField(field, version, leaveOut)] as const)
  return fc.record(Object.fromEntries(fields)) as fc.Arbitrary<Message>
}

function arbitraryField(field: Field<unknown>, version: number, leaveOut: boolean): fc.Arbitrary<unknown> {
  if (!within(field.versions, version)) return fc.constant(field.defaultValue)
  const choices = [
    { weight: 4, arbitrary: arbitraryValue(field.type, version, leaveOut) },
    { weight: field.optional ? 1 : 0, arbitrary: fc.constant(leaveOut ? undefined : field.defaultValue) },
    { weight: within(field.nullable, version) ? 1 : 0, arbitrary: fc.constant(null) },
  ]
  return fc.oneof(...choices)
}

function arbitraryValue(type: Type<unknown>, version: number, leaveOut: boolean): fc.Arbitrary<unknown> {
  if ('fields' in type) return arbitraryMessage(type as StructType<Fields>, version, leaveOut)
  if ('element' in type) return fc.array(arbitraryValue((type as ArrayType<unknown>).element, version, leaveOut), { maxLength: 3 })
  return PRIMITIVES[type.label]!
}

/** What reading gives for a message that was written: defaults for what was left out, and record sets in one piece. */
export function asRead(type: StructType<Fields>, message: Message): Message {
  return Object.fromEntries(Object.entries(type.fields).map(([name, field]) => [name, valueAsRead(field, message[name])]))
}

function valueAsRead({ type, defaultValue }: { type: Type<unknown>; defaultValue?: unknown }, given: unknown): unknown {
  const value = given === undefined ? defaultValue : given
  if (value === null) return null
  if (type.label === 'records') return Buffer.concat(value as Buffer[])
  if ('fields' in type) return asRead(type as StructType<Fields>, value as Message)
  if ('element' in type) return (value as unknown[]).map((item) => valueAsRead({ type: (type as ArrayType<unknown>).element }, item))
  return value
}
