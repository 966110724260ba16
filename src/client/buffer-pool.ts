/** Below this a response is not worth keeping. */
const SMALLEST = 256 * 1024

/**
 * Memory for large responses, used again instead of being left to the garbage collector: it collects the whole heap for
 * every few tens of megabytes allocated outside of it, and each new megabyte costs page faults. Sizes are powers of two.
 * Giving a buffer back is a promise that nothing looks at it any more; what is never given back is collected as usual.
 */
export class BufferPool {
  private readonly free = new Map<number, ArrayBufferLike[]>()
  private readonly issued = new WeakSet<ArrayBufferLike>()
  private kept = 0

  /** @param limit bytes kept for reuse at most */
  constructor(private limit: number) {}

  /** Another limit from now on; what is kept above it goes when it is next used. */
  setLimit(limit: number): void {
    this.limit = limit
  }

  /** A buffer of `size` bytes with undefined content. */
  allocate(size: number): Buffer {
    if (size < SMALLEST) return Buffer.allocUnsafe(size)
    const wanted = 2 ** Math.ceil(Math.log2(size))
    const known = this.free.get(wanted)?.pop()
    if (known !== undefined) this.kept -= wanted
    const memory = known ?? Buffer.allocUnsafeSlow(wanted).buffer
    this.issued.add(memory)
    return Buffer.from(memory, 0, size)
  }

  /** Takes back the memory behind any view of a buffer from {@link allocate}; other memory is left alone. */
  recycle(view: Buffer): void {
    const memory = view.buffer
    if (!this.issued.delete(memory) || this.kept + memory.byteLength > this.limit) return
    const same = this.free.get(memory.byteLength)
    if (same === undefined) this.free.set(memory.byteLength, [memory])
    else same.push(memory)
    this.kept += memory.byteLength
  }
}
