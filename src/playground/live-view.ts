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

  /** @param text whole lines, each narrower than the terminal */
  show(text: string): void {
    const back = this.#inPlace && this.#lines > 0 ? `\x1b[${this.#lines}A\x1b[J` : ''
    this.#write(back + (this.#inPlace || this.#lines === 0 ? text : `\n${text}`))
    this.#lines = text.split('\n').length - 1
  }
}
