/**
 * Writes one Kafka message into a list of buffers. Record sets are appended as they are, never copied.
 * Primitive layouts: Kafka protocol guide, "Protocol Primitive Types".
 */
export class Writer {
  private readonly done: Buffer[] = []
  private buffer: Buffer
  private position = 0
  private bytesDone = 0

  constructor(initialSize = 256) {
    this.buffer = Buffer.allocUnsafe(initialSize)
  }

  /** Bytes written so far, chunks included. */
  get length(): number {
    return this.bytesDone + this.position
  }

  /** The message as a list of buffers whose concatenation is the wire form. The writer must not be used afterwards. */
  finish(): Buffer[] {
    this.flush()
    return this.done
  }

  int8(value: number): void {
    this.room(1)
    this.position = this.buffer.writeInt8(value, this.position)
  }

  int16(value: number): void {
    this.room(2)
    this.position = this.buffer.writeInt16BE(value, this.position)
  }

  uint16(value: number): void {
    this.room(2)
    this.position = this.buffer.writeUInt16BE(value, this.position)
  }

  int32(value: number): void {
    this.room(4)
    this.position = this.buffer.writeInt32BE(value, this.position)
  }

  uint32(value: number): void {
    this.room(4)
    this.position = this.buffer.writeUInt32BE(value, this.position)
  }

  int64(value: bigint): void {
    this.room(8)
    this.position = this.buffer.writeBigInt64BE(value, this.position)
  }

  float64(value: number): void {
    this.room(8)
    this.position = this.buffer.writeDoubleBE(value, this.position)
  }

  /** Unsigned varint of a value in 0 … 2^32-1. */
  uvarint(value: number): void {
    this.room(5)
    let rest = value >>> 0
    while (rest >= 0x80) {
      this.buffer[this.position++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.buffer[this.position++] = rest
  }

  /** Copies small bytes. */
  bytes(value: Buffer): void {
    this.room(value.length)
    this.position += value.copy(this.buffer, this.position)
  }

  /** Appends a buffer as a chunk of its own, without copying it. */
  chunk(value: Buffer): void {
    this.flush()
    this.done.push(value)
    this.bytesDone += value.length
  }

  private room(size: number): void {
    if (this.position + size <= this.buffer.length) return
    this.flush()
    this.buffer = Buffer.allocUnsafe(Math.max(size, 512))
  }

  private flush(): void {
    if (this.position === 0) return
    this.done.push(this.buffer.subarray(0, this.position))
    this.bytesDone += this.position
    this.buffer = this.buffer.subarray(this.position)
    this.position = 0
  }
}
