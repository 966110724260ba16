/** Cuts a stream of Kafka messages (each with its size in front) into whole ones. */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0)

  /** @returns the messages that are complete now, with their size prefix */
  add(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const frames: Buffer[] = []
    while (this.#rest.length >= 4) {
      const size = 4 + this.#rest.readInt32BE(0)
      if (this.#rest.length < size) break
      frames.push(this.#rest.subarray(0, size))
      this.#rest = this.#rest.subarray(size)
    }
    return frames
  }
}
