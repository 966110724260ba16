/** Reads zigzag varints (protobuf's sint64) one after the other. Throws RangeError where the bytes end early. */
export class RecordReader {
  constructor(
    private readonly bytes: Buffer,
    private at = 0,
  ) {}

  get position(): number {
    return this.at
  }

  /** One that fits a double exactly: lengths, counts, deltas of offsets. */
  varint(): number {
    const value = this.unsigned()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  /** Any int64: deltas of timestamps. */
  varlong(): bigint {
    const start = this.at
    const value = this.unsigned()
    if (value < 2 ** 53) return BigInt(value % 2 === 0 ? value / 2 : -(value + 1) / 2)
    let exact = 0n
    for (let i = start, shift = 0n; i < this.at; i++, shift += 7n) exact |= BigInt(this.bytes[i]! & 0x7f) << shift
    return BigInt.asIntN(64, exact & 1n ? ~(exact >> 1n) : exact >> 1n)
  }

  private unsigned(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.bytes[this.at++]
      if (byte === undefined || factor > 2 ** 63) throw new RangeError('a record ends early')
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
  }

  int8(): number {
    this.need(1)
    return this.bytes.readInt8(this.at++)
  }

  /** A view of `size` bytes; null for a negative size. */
  view(size: number): Buffer | null {
    if (size < 0) return null
    this.need(size)
    const view = this.bytes.subarray(this.at, this.at + size)
    this.at += size
    return view
  }

  private need(size: number): void {
    if (this.at + size > this.bytes.length) throw new RangeError('a record ends early')
  }
}

/** Bytes of the largest int64. */
const LONGEST = 10

/** What a number is written as: small negative ones stay small. */
export const zigzag = (value: number): number => (value < 0 ? -value * 2 - 1 : value * 2)

/** The zigzag varint of a whole number that fits a double exactly. */
export function varint(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(LONGEST)
  return bytes.subarray(0, writeVarint(bytes, 0, value))
}

/** Writes the zigzag varint of a whole number that fits a double exactly; returns its end. */
export function writeVarint(target: Buffer, start: number, value: number): number {
  return writeUnsigned(target, start, zigzag(value))
}

/** Writes the zigzag varint of any int64; returns its end. */
export function writeVarlong(target: Buffer, start: number, value: bigint): number {
  let rest = value < 0n ? -value * 2n - 1n : value * 2n
  let at = start
  for (; rest > MAX_EXACT; rest >>= 7n) target[at++] = Number(rest & 0x7fn) | 0x80
  return writeUnsigned(target, at, Number(rest))
}

const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER)

function writeUnsigned(target: Buffer, start: number, value: number): number {
  let at = start
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) target[at++] = (rest % 128) | 0x80
  target[at++] = rest
  return at
}
