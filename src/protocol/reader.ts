/** A response that ends early, or holds a length or value that cannot be. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

/**
 * Reads Kafka primitives from one whole response. Byte fields are views into the response, not copies.
 * Every read is bounds-checked and throws {@link ProtocolError}.
 */
export class Reader {
  private position = 0

  constructor(private readonly buffer: Buffer) {}

  get remaining(): number {
    return this.buffer.length - this.position
  }

  int8(): number {
    return this.buffer.readInt8(this.take(1))
  }

  int16(): number {
    return this.buffer.readInt16BE(this.take(2))
  }

  uint16(): number {
    return this.buffer.readUInt16BE(this.take(2))
  }

  int32(): number {
    return this.buffer.readInt32BE(this.take(4))
  }

  uint32(): number {
    return this.buffer.readUInt32BE(this.take(4))
  }

  int64(): bigint {
    return this.buffer.readBigInt64BE(this.take(8))
  }

  float64(): number {
    return this.buffer.readDoubleBE(this.take(8))
  }

  uvarint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.buffer[this.take(1)]!
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw new ProtocolError('varint is longer than 5 bytes')
  }

  /** A view of the next `size` bytes. */
  view(size: number): Buffer {
    const start = this.take(size)
    return this.buffer.subarray(start, start + size)
  }

  utf8(size: number): string {
    const start = this.take(size)
    return this.buffer.toString('utf8', start, start + size)
  }

  private take(size: number): number {
    const start = this.position
    if (size < 0 || start + size > this.buffer.length) {
      throw new ProtocolError(`message ends early: ${size} more bytes wanted at ${start}, ${this.remaining} left`)
    }
    this.position = start + size
    return start
  }
}
