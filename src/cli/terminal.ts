import type { Readable, Writable } from 'node:stream'

type Input = Readable & { readonly isTTY?: boolean }
type Output = Writable & { readonly isTTY?: boolean }

/** Everything a command touches of the process it runs in; tests hand in their own. */
export interface Terminal {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted by the first SIGINT or SIGTERM; the reason is the signal's name. */
  readonly signal: AbortSignal
}

export function processTerminal(signal: AbortSignal = new AbortController().signal): Terminal {
  return { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, env: process.env, signal }
}

/** Whether questions can be asked: stdin and stderr are a terminal. stdout may be a pipe, questions go to stderr. */
export function canAsk(terminal: Terminal): boolean {
  return terminal.stdin.isTTY === true && terminal.stderr.isTTY === true
}

/** Colour only on a terminal, and not with NO_COLOR or `--no-color`. chalk 5 knows nothing of NO_COLOR, so it is asked here. */
export function wantsColour(output: Output, env: Terminal['env'], noColour: boolean): boolean {
  return output.isTTY === true && !noColour && !env.NO_COLOR && env.TERM !== 'dumb'
}

/** Resolves when the signal is aborted. */
export function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
}
