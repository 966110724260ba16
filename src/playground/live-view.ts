// A line that the terminal wrapped would be two to go back over: it is cut off instead.
const NO_WRAP = '\x1b[?7l'
const WRAP = '\x1b[?7h'

/** Shows a text again and again: in place on a terminal, below each other elsewhere. */
export class LiveView {
  readonly #write: (text: string) => void
  readonly #inPlace: boolean
  #lines = 0

  /** @param inPlace whether the output is a terminal that can move its cursor */
  constructor(write: (text: string) => void, inPlace: boolean) {
    this.#write = write
    this.#inPlace = inPlace
  }

  /** @param text whole lines */
  show(text: string): void {
    if (this.#inPlace) this.#write(this.#back() + NO_WRAP + text + WRAP)
    else this.#write(this.#lines === 0 ? text : `\n${text}`)
    this.#lines = text.split('\n').length - 1
  }

  #back(): string {
    return this.#lines > 0 ? `\x1b[${this.#lines}A\x1b[J` : ''
  }
}
