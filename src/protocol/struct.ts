import { ProtocolError, Reader } from './reader.js'
import type { Type } from './types.js'
import { type VersionRange, within } from './versions.js'
import { Writer } from './writer.js'

/** One field of a struct, in all versions. */
export interface Field<T, Optional extends boolean = boolean> {
  readonly type: Type<T>
  readonly versions: VersionRange
  readonly nullable: VersionRange | undefined
  readonly tag: number | undefined
  readonly taggedVersions: VersionRange | undefined
  readonly defaultValue: T
  readonly optional: Optional
}

export type Fields = Readonly<Record<string, Field<unknown>>>

/** A phantom that carries a struct's fields through arrays and nullability in the types. */
export interface Struct<F extends Fields> {
  readonly __fields?: F
}

export interface StructType<F extends Fields> extends Type<Struct<F>> {
  readonly fields: F
}

/** A struct layout; usable for whole messages and for elements of arrays. */
export function struct<F extends Fields>(fields: F): StructType<F> {
  const all = Object.entries(fields)
  const tagged = all.filter(([, f]) => f.tag !== undefined).sort(([, a], [, b]) => a.tag! - b.tag!)
  const zero = Object.fromEntries(all.map(([name, f]) => [name, f.defaultValue]))
  return {
    label: 'struct',
    fields,
    zero: zero as Struct<F>,
    write(writer, value, version, flexible) {
      const values = value as Record<string, unknown>
      for (const [name, field] of all) {
        if (isPlain(field, version)) writeField(writer, name, field, givenOr(field, values[name]), version, flexible)
      }
      if (flexible) writeTagged(writer, tagged, values, version)
    },
    read(reader, version, flexible) {
      const result: Record<string, unknown> = { ...zero }
      for (const [name, field] of all) {
        if (isPlain(field, version)) result[name] = readField(reader, name, field, version, flexible)
      }
      if (flexible) readTagged(reader, tagged, result, version)
      return result as Struct<F>
    },
  }
}

type NamedField = readonly [name: string, field: Field<unknown>]

const isTagged = (field: Field<unknown>, version: number) => within(field.versions, version) && within(field.taggedVersions, version)
const isPlain = (field: Field<unknown>, version: number) => within(field.versions, version) && !within(field.taggedVersions, version)
const isStruct = (type: Type<unknown>): type is StructType<Fields> => type.label === 'struct'

/** What is written for a field: the given value, or its default if it was left out. */
const givenOr = (field: Field<unknown>, given: unknown) => (given === undefined ? field.defaultValue : given)

// A nullable struct is preceded by a presence byte (KIP-893); everything else encodes null in its length.
const hasPresenceByte = (field: Field<unknown>, version: number) => isStruct(field.type) && within(field.nullable, version)

function writeField(writer: Writer, name: string, field: Field<unknown>, value: unknown, version: number, flexible: boolean): void {
  if (value === null && !within(field.nullable, version)) throw new ProtocolError(`${name} may not be null in version ${version}`)
  if (hasPresenceByte(field, version)) {
    writer.int8(value === null ? -1 : 1)
    if (value === null) return
  }
  field.type.write(writer, value, version, flexible)
}

function readField(reader: Reader, name: string, field: Field<unknown>, version: number, flexible: boolean): unknown {
  if (hasPresenceByte(field, version) && reader.int8() < 0) return null
  const value = field.type.read(reader, version, flexible)
  if (value === null && !within(field.nullable, version)) throw new ProtocolError(`${name} is null in version ${version}`)
  return value
}

/** Tagged fields lie after the others, in order of their tags; those that have their default are left out. */
function writeTagged(writer: Writer, tagged: readonly NamedField[], values: Record<string, unknown>, version: number): void {
  const present = tagged.filter(([name, field]) => isTagged(field, version) && !isDefault(field, givenOr(field, values[name])))
  writer.uvarint(present.length)
  for (const [name, field] of present) {
    const inner = new Writer()
    writeField(inner, name, field, givenOr(field, values[name]), version, true)
    writer.uvarint(field.tag!)
    writer.uvarint(inner.length)
    for (const part of inner.finish()) writer.chunk(part)
  }
}

function readTagged(reader: Reader, tagged: readonly NamedField[], result: Record<string, unknown>, version: number): void {
  const count = reader.uvarint()
  for (let i = 0; i < count; i++) {
    const tag = reader.uvarint()
    const content = new Reader(reader.view(reader.uvarint()))
    const known = tagged.find(([, field]) => field.tag === tag && isTagged(field, version))
    if (known !== undefined) result[known[0]] = readField(content, known[0], known[1], version, true)
  }
}

function isDefault(field: Field<unknown>, value: unknown): boolean {
  if (value === field.defaultValue) return true
  if (value === null || field.defaultValue === null) return false
  if (isStruct(field.type)) {
    return Object.entries(field.type.fields).every(([name, inner]) =>
      isDefault(inner, givenOr(inner, (value as Record<string, unknown>)[name])),
    )
  }
  // Lists of all kinds have an empty default, if it is not null.
  return typeof value === 'object' && (value as ArrayLike<unknown>).length === 0
}
