import { ProtocolError, Reader } from './reader.js'
import { Writer } from './writer.js'

/**
 * Message layouts as data, after Kafka's own message schemas (`common/message/*.json`): one table of fields holds
 * every version we speak, and both directions, the TypeScript types and the conformance test read it.
 */

/** Versions as Kafka's schemas write them: `3`, `0-4`, `2+`. */
export type Versions = `${number}` | `${number}-${number}` | `${number}+`

/** A parsed version range, both ends included. */
export interface VersionRange {
  readonly min: number
  readonly max: number
}

/** How values of one type lie on the wire at a message version; `flexible` selects compact lengths and tagged fields (KIP-482). */
export interface Type<T> {
  readonly label: string
  readonly zero: T
  write(writer: Writer, value: T, version: number, flexible: boolean): void
  read(reader: Reader, version: number, flexible: boolean): T
}

export interface FieldOptions<T> {
  /** Versions in which null is allowed. */
  readonly nullable?: Versions
  /** Tagged field number (KIP-482); absent for ordinary fields. */
  readonly tag?: number
  readonly taggedVersions?: Versions
  /** Makes the field optional when writing, and is what reading gives where the version lacks it. */
  readonly default?: T
}

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

type Simplify<T> = { [K in keyof T]: T[K] } & {}
type ValueOf<F> = F extends Field<infer T> ? T : never
type RequiredKeys<F extends Fields> = { [K in keyof F]: F[K] extends Field<unknown, false> ? K : never }[keyof F]
type OptionalKeys<F extends Fields> = Exclude<keyof F, RequiredKeys<F>>

/** What is given to write a message: fields with a default may be left out, at every depth. */
export type Input<T> = T extends bigint | number | string | boolean | Buffer | null | undefined
  ? T
  : T extends readonly Buffer[]
    ? T
    : T extends readonly (infer E)[]
      ? readonly Input<E>[]
      : T extends Struct<infer F>
        ? InputOf<F>
        : never

type InputOf<F extends Fields> = Simplify<
  { readonly [K in RequiredKeys<F>]: Input<ValueOf<F[K]>> } & { readonly [K in OptionalKeys<F>]?: Input<ValueOf<F[K]>> }
>

/** What reading a message gives: every field, with its default where the version lacks it. */
export type Output<T> = T extends bigint | number | string | boolean | Buffer | null | undefined
  ? T
  : T extends readonly Buffer[]
    ? Buffer
    : T extends readonly (infer E)[]
      ? readonly Output<E>[]
      : T extends Struct<infer F>
        ? Simplify<{ readonly [K in keyof F]: Output<ValueOf<F[K]>> }>
        : never

/** A phantom that carries a struct's fields through arrays and nullability in the types. */
export interface Struct<F extends Fields> {
  readonly __fields?: F
}

export interface StructType<F extends Fields> extends Type<Struct<F>> {
  readonly fields: F
}

export interface ArrayType<T> extends Type<readonly T[]> {
  readonly element: Type<T>
}

export function parseVersions(text: Versions): VersionRange {
  const [from, to] = text.split('-')
  const min = Number.parseInt(from!, 10)
  return { min, max: text.endsWith('+') ? Number.POSITIVE_INFINITY : to === undefined ? min : Number(to) }
}

export const within = (range: VersionRange | undefined, version: number): boolean =>
  range !== undefined && version >= range.min && version <= range.max

function primitive<T>(label: string, zero: T, write: (w: Writer, v: T) => void, read: (r: Reader) => T): Type<T> {
  return { label, zero, write, read }
}

/** Kafka's "no id": all zeros. */
export const NO_UUID = '00000000-0000-0000-0000-000000000000'

function uuidBytes(text: string): Buffer {
  const bytes = Buffer.from(text.replaceAll('-', ''), 'hex')
  if (bytes.length !== 16) throw new ProtocolError(`'${text}' is not a uuid`)
  return bytes
}

/** Topic ids and the like, as canonical hex text with hyphens; all zeros is Kafka's "none". */
const uuidType = primitive<string>(
  'uuid',
  NO_UUID,
  (w, v) => w.bytes(uuidBytes(v)),
  (r) =>
    r
      .view(16)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
)

const int8Type = primitive<number>(
  'int8',
  0,
  (w, v) => w.int8(v),
  (r) => r.int8(),
)
const int16Type = primitive<number>(
  'int16',
  0,
  (w, v) => w.int16(v),
  (r) => r.int16(),
)
const uint16Type = primitive<number>(
  'uint16',
  0,
  (w, v) => w.uint16(v),
  (r) => r.uint16(),
)
const int32Type = primitive<number>(
  'int32',
  0,
  (w, v) => w.int32(v),
  (r) => r.int32(),
)
const uint32Type = primitive<number>(
  'uint32',
  0,
  (w, v) => w.uint32(v),
  (r) => r.uint32(),
)
const int64Type = primitive<bigint>(
  'int64',
  0n,
  (w, v) => w.int64(v),
  (r) => r.int64(),
)
const float64Type = primitive<number>(
  'float64',
  0,
  (w, v) => w.float64(v),
  (r) => r.float64(),
)
const boolType = primitive<boolean>(
  'bool',
  false,
  (w, v) => w.int8(v ? 1 : 0),
  (r) => r.int8() !== 0,
)

function writeLength(writer: Writer, length: number, wide: boolean, flexible: boolean): void {
  if (flexible) writer.uvarint(length + 1)
  else if (wide) writer.int32(length)
  else if (length > 0x7fff) throw new ProtocolError(`a string of ${length} bytes is longer than 32767`)
  else writer.int16(length)
}

function readLength(reader: Reader, wide: boolean, flexible: boolean): number {
  return flexible ? reader.uvarint() - 1 : wide ? reader.int32() : reader.int16()
}

/** Wraps length-prefixed layouts so that length −1 is null. */
function lengthPrefixed<T>(
  label: string,
  zero: T,
  wide: boolean,
  size: (v: T) => number,
  write: (w: Writer, v: T, version: number, flexible: boolean) => void,
  read: (r: Reader, n: number, version: number, flexible: boolean) => T,
): Type<T> {
  return {
    label,
    zero,
    write(writer, value, version, flexible) {
      if (value === null) return writeLength(writer, -1, wide, flexible)
      writeLength(writer, size(value), wide, flexible)
      write(writer, value, version, flexible)
    },
    read(reader, version, flexible) {
      const length = readLength(reader, wide, flexible)
      return length < 0 ? (null as T) : read(reader, length, version, flexible)
    },
  }
}

const stringType = lengthPrefixed<string>(
  'string',
  '',
  false,
  (v) => Buffer.byteLength(v),
  (w, v) => w.bytes(Buffer.from(v)),
  (r, n) => r.utf8(n),
)

const bytesType = lengthPrefixed<Buffer>(
  'bytes',
  Buffer.alloc(0),
  true,
  (v) => v.length,
  (w, v) => w.bytes(v),
  (r, n) => r.view(n),
)

/** Record sets: a list of buffers when written, one view when read. Kafka lets them be null; that is read as an empty view. */
const recordsType: Type<readonly Buffer[]> = {
  label: 'records',
  zero: [],
  write(writer, value, _version, flexible) {
    writeLength(
      writer,
      value.reduce((sum, part) => sum + part.length, 0),
      true,
      flexible,
    )
    for (const part of value) writer.chunk(part)
  },
  read(reader, _version, flexible) {
    const length = readLength(reader, true, flexible)
    return reader.view(Math.max(length, 0)) as unknown as readonly Buffer[]
  },
}

function arrayType<T>(element: Type<T>): ArrayType<T> {
  const type = lengthPrefixed<readonly T[]>(
    `[]${element.label}`,
    [],
    true,
    (v) => v.length,
    (w, v, version, flexible) => {
      for (const item of v) element.write(w, item, version, flexible)
    },
    (r, n, version, flexible) => {
      // No element is empty, and a bad length must not make us allocate.
      if (n > r.remaining) throw new ProtocolError(`array of ${n} elements in ${r.remaining} bytes`)
      const items: T[] = []
      for (let i = 0; i < n; i++) {
        const item = element.read(r, version, flexible)
        if (item === null) throw new ProtocolError('null in an array')
        items.push(item)
      }
      return items
    },
  )
  return { ...type, element }
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

/** A field without a default must be given when writing. */
type Make<T> = {
  (versions: Versions, options: FieldOptions<T | null> & { nullable: Versions; default: T | null }): Field<T | null, true>
  (versions: Versions, options: FieldOptions<T | null> & { nullable: Versions }): Field<T | null, false>
  (versions: Versions, options: FieldOptions<T> & { default: T }): Field<T, true>
  (versions: Versions, options?: FieldOptions<T>): Field<T, false>
}

function maker<T>(type: Type<T>): Make<T> {
  return ((versions: Versions, options: FieldOptions<T> = {}) => ({
    type,
    versions: parseVersions(versions),
    nullable: options.nullable === undefined ? undefined : parseVersions(options.nullable),
    tag: options.tag,
    taggedVersions: options.taggedVersions === undefined ? undefined : parseVersions(options.taggedVersions),
    defaultValue: options.default === undefined ? type.zero : options.default,
    optional: options.default !== undefined,
  })) as Make<T>
}

export const int8 = maker(int8Type)
export const int16 = maker(int16Type)
export const uint16 = maker(uint16Type)
export const int32 = maker(int32Type)
export const uint32 = maker(uint32Type)
export const int64 = maker(int64Type)
export const float64 = maker(float64Type)
export const bool = maker(boolType)
export const string = maker(stringType)
export const uuid = maker(uuidType)
export const bytes = maker(bytesType)
export const records = maker(recordsType)

/** An array of structs given by their fields. */
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<readonly Struct<F>[] | null> & { nullable: Versions; default: readonly [] | null },
): Field<readonly Struct<F>[] | null, true>
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<readonly Struct<F>[] | null> & { nullable: Versions },
): Field<readonly Struct<F>[] | null, false>
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<readonly Struct<F>[]> & { default: readonly [] },
): Field<readonly Struct<F>[], true>
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options?: FieldOptions<readonly Struct<F>[]>,
): Field<readonly Struct<F>[], false>
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options?: FieldOptions<readonly Struct<F>[] | null>,
): Field<readonly Struct<F>[] | null> {
  return (maker(arrayType(struct(fields))) as (v: Versions, o?: unknown) => Field<readonly Struct<F>[]>)(versions, options)
}

/** A single struct inside a message. The default `{}` is the struct with the defaults of all its fields. */
export function structOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<Struct<F> | null> & { nullable: Versions; default: null },
): Field<Struct<F> | null, true>
export function structOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<Struct<F>> & { default: Record<string, never> },
): Field<Struct<F>, true>
export function structOf<F extends Fields>(versions: Versions, fields: F, options?: FieldOptions<Struct<F>>): Field<Struct<F>, false>
export function structOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options?: FieldOptions<Struct<F> | null>,
): Field<Struct<F> | null> {
  const type = struct(fields)
  const field = (maker(type) as (v: Versions, o?: unknown) => Field<Struct<F>>)(versions, options)
  return field.defaultValue === null ? field : { ...field, defaultValue: type.zero }
}

/** Arrays of primitives. */
export const arrayOfInt32 = maker(arrayType(int32Type))
export const arrayOfInt64 = maker(arrayType(int64Type))
export const arrayOfInt8 = maker(arrayType(int8Type))
export const arrayOfString = maker(arrayType(stringType))
export const arrayOfUuid = maker(arrayType(uuidType))

/** One Kafka API: its key and name, the versions we speak, the first flexible one, and both layouts. */
export interface Api<Q extends Fields = Fields, S extends Fields = Fields> {
  readonly key: number
  readonly name: string
  readonly versions: VersionRange
  readonly flexible: number
  readonly request: StructType<Q>
  readonly response: StructType<S>
}

export type RequestOf<A> = A extends Api<infer Q, Fields> ? InputOf<Q> : never
export type ResponseOf<A> = A extends Api<Fields, infer S> ? Output<Struct<S>> : never

/** Defines an API. `versions` are those we speak, both ends included; `flexible` is as in Kafka's schema: `none` or `N+`. */
export function api<Q extends Fields, S extends Fields>(definition: {
  key: number
  name: string
  versions: Versions
  flexible: Versions | 'none'
  request: Q
  response: S
}): Api<Q, S> {
  return {
    key: definition.key,
    name: definition.name,
    versions: parseVersions(definition.versions),
    flexible: definition.flexible === 'none' ? Number.POSITIVE_INFINITY : parseVersions(definition.flexible).min,
    request: struct(definition.request),
    response: struct(definition.response),
  }
}
