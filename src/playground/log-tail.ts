/** The last lines of what a process printed. */
export class LogTail {
  readonly #limit: number
  #lines: string[] = []
  #rest = ''

  /** @param limit how many lines to keep */
  constructor(limit: number) {
    this.#limit = limit
  }

  add(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    this.#lines.push(...lines)
    if (this.#lines.length > this.#limit) this.#lines = this.#lines.slice(-this.#limit)
  }

  text(): string {
    return [...this.#lines, ...(this.#rest ? [this.#rest] : [])].join('\n')
  }

  clear(): void {
    this.#lines = []
    this.#rest = ''
  }
}
