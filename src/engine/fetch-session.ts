/**
 * The client's half of an incremental fetch session (KIP-227): what the broker already knows of each partition, so
 * that a request names only what changed.
 */
export interface FetchPosition {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  readonly fetchOffset: bigint
  /** Of the last copied batch; −1 when unknown. Lets the broker notice that our history is not its own (KIP-595 fields). */
  readonly lastFetchedEpoch: number
  readonly currentLeaderEpoch: number
  readonly maxBytes: number
}

export interface FetchChange {
  readonly sessionId: number
  readonly sessionEpoch: number
  /** Partitions to name in the request. */
  readonly positions: readonly FetchPosition[]
  /** Partitions the broker must drop from the session. */
  readonly forgotten: ReadonlyArray<{ readonly topic: string; readonly topicId: string; readonly partition: number }>
}

const keyOf = (p: { topicId: string; topic: string; partition: number }) => `${p.topicId}/${p.topic}/${p.partition}`

const same = (a: FetchPosition, b: FetchPosition) =>
  a.fetchOffset === b.fetchOffset &&
  a.lastFetchedEpoch === b.lastFetchedEpoch &&
  a.currentLeaderEpoch === b.currentLeaderEpoch &&
  a.maxBytes === b.maxBytes

export class FetchSession {
  private id = 0
  private epoch = 0
  private known = new Map<string, FetchPosition>()

  /** What to send so that the session holds exactly `wanted`. The caller sends it and then reports the answer. */
  next(wanted: readonly FetchPosition[]): FetchChange {
    const positions: FetchPosition[] = []
    const left = new Map(this.known)
    for (const position of wanted) {
      const key = keyOf(position)
      const before = this.known.get(key)
      if (before === undefined || !same(before, position)) positions.push(position)
      left.delete(key)
      this.known.set(key, position)
    }
    for (const key of left.keys()) this.known.delete(key)
    return { sessionId: this.id, sessionEpoch: this.epoch, positions, forgotten: [...left.values()] }
  }

  /** The broker answered: id 0 means it keeps no session, and every request is a full one. */
  answered(sessionId: number): void {
    if (sessionId === 0) {
      this.reset()
      return
    }
    this.id = sessionId
    this.epoch = this.epoch >= 0x7fffffff ? 1 : this.epoch + 1
  }

  /** Forget everything: the next request is a full one (epoch 0, id 0). */
  reset(): void {
    this.id = 0
    this.epoch = 0
    this.known.clear()
  }
}
