import { ProtocolError, type Reader } from './reader.js'
import type { Writer } from './writer.js'

/** How values of one type lie on the wire at a message version; `flexible` selects compact lengths and tagged fields (KIP-482). */
export interface Type<T> {
  readonly label: string
  readonly zero: T
  write(writer: Writer, value: T, version: number, flexible: boolean): void
  read(reader: Reader, version: number, flexible: boolean): T
}

export interface ArrayType<T> extends Type<readonly T[]> {
  readonly element: Type<T>
}

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
export const uuidType = primitive<string>(
  'uuid',
  NO_UUID,
  (w, v) => w.bytes(uuidBytes(v)),
  (r) =>
    r
      .view(16)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
)

export const int8Type = primitive<number>(
  'int8',
  0,
  (w, v) => w.int8(v),
  (r) => r.int8(),
)
export const int16Type = primitive<number>(
  'int16',
  0,
  (w, v) => w.int16(v),
  (r) => r.int16(),
)
export const uint16Type = primitive<number>(
  'uint16',
  0,
  (w, v) => w.uint16(v),
  (r) => r.uint16(),
)
export const int32Type = primitive<number>(
  'int32',
  0,
  (w, v) => w.int32(v),
  (r) => r.int32(),
)
export const uint32Type = primitive<number>(
  'uint32',
  0,
  (w, v) => w.uint32(v),
  (r) => r.uint32(),
)
export const int64Type = primitive<bigint>(
  'int64',
  0n,
  (w, v) => w.int64(v),
  (r) => r.int64(),
)
export const float64Type = primitive<number>(
  'float64',
  0,
  (w, v) => w.float64(v),
  (r) => r.float64(),
)
export const boolType = primitive<boolean>(
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

export const stringType = lengthPrefixed<string>(
  'string',
  '',
  false,
  (v) => Buffer.byteLength(v),
  (w, v) => w.bytes(Buffer.from(v)),
  (r, n) => r.utf8(n),
)

export const bytesType = lengthPrefixed<Buffer>(
  'bytes',
  Buffer.alloc(0),
  true,
  (v) => v.length,
  (w, v) => w.bytes(v),
  (r, n) => r.view(n),
)

/** Record sets: a list of buffers when written, one view when read. Kafka lets them be null; that is read as an empty view. */
export const recordsType: Type<readonly Buffer[]> = {
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

/** Arrays, whose elements are never null. */
export function arrayType<T>(element: Type<T>): ArrayType<T> {
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
