import { createInterface } from 'node:readline'
import type { Terminal } from './terminal.js'

/** Asks a yes-or-no question on stderr. An empty answer, end of input or an interrupt is no. */
export async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  const lines = createInterface({ input: terminal.stdin, terminal: false })
  try {
    terminal.stderr.write(`${question} [y/N] `)
    const answer = await new Promise<string>((resolve) => {
      lines.once('line', resolve)
      lines.once('close', () => resolve(''))
      terminal.signal.addEventListener('abort', () => resolve(''), { once: true })
    })
    return /^\s*y(es)?\s*$/i.test(answer)
  } finally {
    lines.close()
  }
}
