import type { BufferPool } from './buffer-pool.js'

/** The stream holds something that is no Kafka response. */
export class FrameError extends Error {
  override readonly name = 'FrameError'

  constructor(
    reason: string,
    readonly advice?: string,
  ) {
    super(reason)
  }
}

/** Larger than any fetch we ask for, also when one batch exceeds the asked size; smaller than what text or TLS reads as a length. */
const MAX_FRAME_BYTES = 320 * 1024 * 1024
/** Less than this left of a frame is read along with what follows it. */
const IN_PLACE_BYTES = 64 * 1024
/** The answer to ApiVersions is a few kB: a first frame above this is another protocol. */
const MAX_FIRST_FRAME_BYTES = 1024 * 1024

/**
 * Cuts a byte stream into Kafka's frames (int32 length, then that many bytes), at whatever borders the chunks come.
 * Each frame is collected into a buffer of its exact size as its chunks arrive, so no chunk is kept and sockets may read
 * into the same memory again; the bulk of a large frame can be read right into {@link target}, and is not copied at all.
 */
export class FrameReader {
  private readonly prefix = Buffer.alloc(4)
  private prefixed = 0
  private frame: Buffer | undefined
  private filled = 0
  private first = true

  /** @param buffers where large frames are put; default the garbage-collected heap */
  constructor(
    private readonly onFrame: (frame: Buffer) => void,
    private readonly buffers?: BufferPool,
  ) {}

  /** The unfilled rest of a frame, when there is enough of it to be worth reading into; the next `push` should be a view of it. */
  get target(): Buffer | undefined {
    const frame = this.frame
    return frame === undefined || frame.length - this.filled < IN_PLACE_BYTES ? undefined : frame.subarray(this.filled)
  }

  /** @throws FrameError when a length cannot be right; the stream is lost then. */
  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.frame === undefined) {
        const size = this.readLength(chunk, at)
        at += this.consumed
        if (size === undefined) return
        this.frame = this.buffers?.allocate(size) ?? Buffer.allocUnsafe(size)
        this.filled = 0
      }
      at += this.fill(chunk, at)
    }
  }

  private consumed = 0

  private readLength(chunk: Buffer, at: number): number | undefined {
    const wanted = Math.min(4 - this.prefixed, chunk.length - at)
    chunk.copy(this.prefix, this.prefixed, at, at + wanted)
    this.consumed = wanted
    this.prefixed += wanted
    if (this.prefixed < 4) return undefined
    this.prefixed = 0
    const size = this.prefix.readInt32BE(0)
    if (size < 4 || size > (this.first ? MAX_FIRST_FRAME_BYTES : MAX_FRAME_BYTES)) throw this.explain(chunk.subarray(at + wanted))
    this.first = false
    return size
  }

  private fill(chunk: Buffer, at: number): number {
    const frame = this.frame!
    const inPlace = chunk.buffer === frame.buffer && chunk.byteOffset === frame.byteOffset + this.filled
    const copied = inPlace ? chunk.length : chunk.copy(frame, this.filled, at)
    this.filled += copied
    if (this.filled === frame.length) {
      this.frame = undefined
      this.onFrame(frame)
    }
    return copied
  }

  private explain(rest: Buffer): FrameError {
    const [type, major] = this.prefix
    const text = this.prefix.toString('latin1')
    // TLS records: alert (21) and handshake (22), version 3.x.
    if ((type === 21 || type === 22) && major === 3) {
      return new FrameError('this looks like a TLS port', 'set security.protocol=SSL (or SASL_SSL)')
    }
    if (text === 'HTTP') return new FrameError('an HTTP server answered', 'give the address of a Kafka listener')
    if (/^[\x20-\x7e\r\n]{4}$/.test(text)) {
      const line = (text + rest.toString('latin1', 0, 40)).split(/[\r\n]/)[0]!.replace(/[^\x20-\x7e]/g, '?')
      return new FrameError(`something that is not Kafka answered: "${line}"`, 'give the address of a Kafka listener')
    }
    return new FrameError(
      `the answer is not Kafka's protocol: a message of ${this.prefix.readInt32BE(0)} bytes`,
      'give the address of a Kafka listener',
    )
  }
}
