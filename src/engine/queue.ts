/** First in, first out in constant time: an array's `shift` moves everything behind it, and small batches queue by ten thousands. */
export class Queue<T> {
  private items: T[] = []
  private head = 0

  /** The next item, left in place. */
  get first(): T | undefined {
    return this.items[this.head]
  }

  push(item: T): void {
    this.items.push(item)
  }

  shift(): T | undefined {
    const item = this.items[this.head]
    if (item === undefined) return undefined
    this.head++
    if (this.head === this.items.length) this.clear()
    else if (this.head > 1_024 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head)
      this.head = 0
    }
    return item
  }

  /** Puts another item in the place of the next one, which must be there. */
  replaceFirst(item: T): void {
    this.items[this.head] = item
  }

  clear(): void {
    this.items = []
    this.head = 0
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = this.head; i < this.items.length; i++) yield this.items[i]!
  }
}
