import type { Terminal } from './terminal.js'

const EVERY_MS = 200
const CLEAR_LINE = '\r\x1b[K'

/** One line on a terminal's stderr that is written over and over; nothing where stderr is no terminal. */
export class StatusLine {
  private shownAt = Number.NEGATIVE_INFINITY
  private shown = false

  constructor(
    private readonly terminal: Pick<Terminal, 'stderr'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Shows it unless another was shown a moment ago; `text` is asked for only then. */
  show(text: () => string): void {
    if (this.terminal.stderr.isTTY !== true || this.now() - this.shownAt < EVERY_MS) return
    this.shownAt = this.now()
    this.shown = true
    this.terminal.stderr.write(`${CLEAR_LINE}${text()}`)
  }

  /** Makes room for something else. */
  clear(): void {
    if (this.shown) this.terminal.stderr.write(CLEAR_LINE)
    this.shown = false
  }
}
