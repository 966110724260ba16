import { backoffMs, type Pause } from './backoff.js'
import type { CopyEnd } from './copy-session.js'
import { LostPlace } from './errors.js'
import type { PartitionContext } from './partition-context.js'
import type { PartitionStanding } from './partition-standing.js'

export const RETRY_MAX_MS = 60_000
/** A restart moves leaders for a moment; the first attempts are quick. */
const MOVED_INITIAL_MS = 100
/** Sessions that end at once, again and again, are worth a word in the status even if each reason is a passing one. */
const TOLD_AFTER_ATTEMPTS = 4

/** What follows the end of a copy session: a verdict, fresh metadata, or a wait, until the next one may begin. */
export class AfterSession {
  /** Sessions of this owner that did not end as wished. */
  retries = 0
  /** Those in a row that achieved nothing. */
  attempts = 0

  constructor(
    private readonly context: PartitionContext,
    private readonly standing: PartitionStanding,
    private readonly pause: Pause,
  ) {}

  /** Resolves when the next session may begin. */
  async pass(end: CopyEnd): Promise<void> {
    if (end.kind === 'drained') return
    if (end.kind === 'failed') return this.fail(end.reason)
    if (end.kind === 'too-large' && !(await this.mayBeSplit(end.size))) return this.fail(end.reason)
    if (end.kind === 'source-gone') return this.keepCopy(end.reason)
    this.standing.tell(end.kind === 'retry' ? 'warn' : 'info', `partition-${end.kind}`, end.reason)
    if (end.kind === 'fenced') {
      await this.standing.note(end.reason, this.attempts)
      // A newer owner or a failover: what comes next is told by the group or by the operator.
      await this.pause.wait(RETRY_MAX_MS)
      return
    }
    this.retries++
    if (end.kind === 'moved') await this.refresh(end.side)
    if (end.kind === 'retry') {
      await this.standing.note(end.reason, this.attempts)
      if (await this.reachable(end.unreachable)) return
    } else if (this.attempts >= TOLD_AFTER_ATTEMPTS) {
      await this.standing.note(end.reason, this.attempts)
    }
    const initial = end.kind === 'retry' ? this.context.config().fetchBackoffMs : MOVED_INITIAL_MS
    await this.pause.wait(backoffMs(this.attempts++, initial, RETRY_MAX_MS))
  }

  private async fail(reason: string): Promise<void> {
    // Nothing to judge by: what a runner without its place finds in the log may be its heir's work.
    if (!this.context.mayAppend()) {
      this.standing.tell('warn', 'partition-retry', `${new LostPlace().message}, and finds that ${reason}`)
      await this.pause.wait(backoffMs(this.attempts++, this.context.config().fetchBackoffMs, RETRY_MAX_MS))
      return
    }
    const { failedRetryInitialBackoffMs, failedRetryMaxBackoffMs } = this.context.config()
    const { retries } = await this.standing.fail(reason)
    await this.pause.wait(backoffMs(retries, failedRetryInitialBackoffMs, failedRetryMaxBackoffMs))
    // It may be what failed us, and what the operator has changed since.
    this.context.forgetMaxMessageBytes()
  }

  /** Nothing more can come. What is there is kept as it is, until an operator makes the topic writable; a topic of the name may come back. */
  private async keepCopy(reason: string): Promise<void> {
    if (this.standing.state !== 'STOPPED') {
      this.standing.tell('warn', 'partition-stopped', reason)
      await this.standing.enter('STOPPED', { error: { message: reason, retries: 0, at: Date.now() } })
      this.standing.error = reason
    }
    await this.pause.wait(this.context.config().metadataRefreshIntervalMs)
  }

  /** The destination's limit was lowered after the session had begun: what was read with the old one is read again and split. */
  private async mayBeSplit(size: number): Promise<boolean> {
    this.context.forgetMaxMessageBytes()
    return this.context.maxMessageBytes().then(
      (limit) => limit < size,
      () => true,
    )
  }

  private async refresh(side: 'source' | 'destination'): Promise<void> {
    const { cluster } = side === 'source' ? this.context.source() : this.context.destination
    await cluster.refresh([this.context.topic]).catch(() => {})
  }

  /** Waits until what is out of reach is back. True if something else has changed before. */
  private async reachable(side: 'source' | 'destination' | 'both' | undefined): Promise<boolean> {
    if (side === undefined) return false
    const { source, destination } = this.context
    const links = side === 'both' ? [source(), destination] : [side === 'source' ? source() : destination]
    for (const link of links) link.reachability.down()
    if (side !== 'destination') source().forgetVerification()
    return this.pause.wait(RETRY_MAX_MS, Promise.all(links.map((link) => link.reachability.whenUp())))
  }
}
