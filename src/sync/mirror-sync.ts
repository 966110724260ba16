import type { SyncLoopName, SyncProblem } from '../mirror/state.js'
import { MAX_SYNC_PROBLEMS } from '../mirror/state.js'
import { publishSync } from './events.js'
import type { FrameLoop, SyncFrame, SyncOutcome, SyncReport, WriteSyncStatus } from './types.js'

/** Written at least this often while nothing changes, so that readers see that the loop is alive. */
const REPEAT_MS = 30_000

/** Waiting, so that tests need not. */
export interface SyncTimer {
  /** Calls `action` once, after so many milliseconds, unless the returned function is called first. */
  after(milliseconds: number, action: () => void): () => void
}

const REAL: SyncTimer = {
  after(milliseconds, action) {
    const timer = setTimeout(action, milliseconds).unref()
    return () => clearTimeout(timer)
  },
}

/** Loops that look at what operators write, and so look again when it changes. */
const METADATA: ReadonlySet<SyncLoopName> = new Set(['discovery', 'topics', 'configs', 'acls'])

/**
 * Runs a mirror's slow loops, each at its own pace and never twice at once; what goes wrong in one is its own. It exists
 * while the mirror's shard is owned here.
 */
export class MirrorSync {
  private readonly running: readonly RunningLoop[]

  /** `write` takes the outcome of a round to the state topic; if it fails, the next round's is written. */
  constructor(
    private readonly context: SyncFrame,
    loops: readonly FrameLoop[],
    write: WriteSyncStatus,
    timer: SyncTimer = REAL,
  ) {
    this.running = loops.map((loop) => new RunningLoop(context, loop, write, timer))
  }

  /** Begins with a round of every loop. */
  start(): void {
    for (const loop of this.running) loop.soon()
  }

  /** What the mirror should be has changed: loops over topics, settings and rules look again now, not when their time has come. */
  changed(): void {
    for (const loop of this.running) if (METADATA.has(loop.name)) loop.soon()
  }

  /** Nothing is begun any more; resolves once rounds under way have ended. */
  async close(): Promise<void> {
    await Promise.all(this.running.map((loop) => loop.close()))
    publishSync({ kind: 'ended', mirror: this.context.mirror })
  }
}

class RunningLoop {
  private round: Promise<void> | undefined
  private again = false
  private closed = false
  private cancel = () => {}
  private lastSuccess: number | undefined
  private written: SyncOutcome | undefined

  constructor(
    private readonly context: SyncFrame,
    private readonly loop: FrameLoop,
    private readonly write: WriteSyncStatus,
    private readonly timer: SyncTimer,
  ) {
    this.lastSuccess = context.state().mirror(context.mirror)?.syncs.get(loop.name)?.lastSuccess
  }

  get name(): SyncLoopName {
    return this.loop.name
  }

  /** A round now, or right behind the one under way. */
  soon(): void {
    if (this.closed) return
    if (this.round !== undefined) this.again = true
    else this.begin()
  }

  async close(): Promise<void> {
    this.closed = true
    this.cancel()
    await this.round
  }

  private begin(): void {
    this.cancel()
    this.round = this.oneRound().then(() => {
      this.round = undefined
      if (this.closed) return
      if (this.again) {
        this.again = false
        this.begin()
      } else this.cancel = this.timer.after(this.loop.intervalMs(this.context.config()), () => this.begin())
    })
  }

  private async oneRound(): Promise<void> {
    if (!this.context.ownsShard()) return
    const began = this.context.now()
    const outcome = await this.outcome()
    const { at, ok, error, changes, problems, more } = outcome
    const { mirror } = this.context
    publishSync({ kind: 'round', mirror, loop: this.name, at, milliseconds: at - began, ok, error, changes, problems, more })
    // What another runner does by now is its to tell.
    if (!this.context.ownsShard() || !this.deservesWriting(outcome)) return
    try {
      await this.write(this.loop.name, outcome)
      this.written = outcome
    } catch {
      // Out of reach: whoever copies says so already, and the next round's outcome is as good.
    }
  }

  private async outcome(): Promise<SyncOutcome> {
    try {
      const report = await this.loop.run(this.context)
      this.lastSuccess = this.context.now()
      return { at: this.lastSuccess, ok: true, lastSuccess: this.lastSuccess, ...shortened(report) }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return {
        at: this.context.now(),
        ok: false,
        lastSuccess: this.lastSuccess,
        error: message,
        changes: 0,
        problems: [],
        more: 0,
        notes: [],
      }
    }
  }

  private deservesWriting(outcome: SyncOutcome): boolean {
    const { written } = this
    if (written === undefined || outcome.at - written.at >= REPEAT_MS) return true
    return outcome.changes > 0 || fingerprint(outcome) !== fingerprint(written)
  }
}

function shortened({ changes, problems, notes }: SyncReport): Pick<SyncOutcome, 'changes' | 'problems' | 'more' | 'notes'> {
  const sorted: readonly SyncProblem[] = [...problems].sort((a, b) => (a.item < b.item ? -1 : a.item > b.item ? 1 : 0))
  return {
    changes,
    problems: sorted.slice(0, MAX_SYNC_PROBLEMS),
    more: Math.max(0, sorted.length - MAX_SYNC_PROBLEMS),
    notes,
  }
}

/** All of an outcome that a reader would miss, times left out. */
const fingerprint = ({ ok, error, changes, problems, more, notes }: SyncOutcome): string =>
  JSON.stringify([ok, error, changes, problems, more, notes])
