import { createHash } from 'node:crypto'
import type { Side } from './comparison.js'
import { contentOf, keyOf } from './record-content.js'
import type { RecordCursor, Timestamp } from './record-cursor.js'

/** A record that one side of a compacted topic has and the other has not, until a later one of its key is found. */
export interface OpenKey {
  /** Counted like the records'. */
  readonly offset: number
  readonly lackedBy: Side
  readonly tombstone: boolean
  readonly timestamp: Timestamp
}

/** Memory for open keys, shared by all partitions that are compared at the same time; bytes, roughly. */
export class KeyRoom {
  constructor(private left: number) {}

  take(bytes: number): boolean {
    this.left -= bytes
    return this.left >= 0
  }

  give(bytes: number): void {
    this.left += bytes
  }
}

/** What a Map's entry with its strings and numbers takes beside the key. */
const ENTRY_BYTES = 160
/** Longer keys are remembered by their digest. */
const LONG_KEY = 44

/**
 * The rule of compacted topics: each side cleans by itself, so an offset may be missing on one of them if a later record of
 * its key is there. Keys wait here until one comes. When there is no room left for more, {@link full} asks for the rest of
 * the log to be searched for the keys that are open.
 */
export class SupersededKeys {
  /** Records that were found to be superseded. */
  superseded = 0
  private readonly open = new Map<string, OpenKey>()
  private outOfRoom = false
  private taken = 0

  constructor(private readonly room: KeyRoom) {}

  get size(): number {
    return this.open.size
  }

  get full(): boolean {
    return this.outOfRoom
  }

  /** A record that only one side has. Also supersedes what was open of its key. */
  add(record: RecordCursor, lackedBy: Side): void {
    const { key, value } = contentOf(record)
    // The cleaner drops records without a key, which a topic may hold from before it was compacted.
    if (key === null) {
      this.superseded++
      return
    }
    const name = nameOf(key)
    this.resolve(name, record.offset)
    const bytes = ENTRY_BYTES + name.length
    if (!this.room.take(bytes)) this.outOfRoom = true
    this.taken += bytes
    this.open.set(name, { offset: record.offset, lackedBy, tombstone: value === null, timestamp: record.timestamp })
  }

  /** A record that a consumer sees. `by`: only what that side lacks can be superseded by it; default what either lacks. */
  seen(record: RecordCursor, by?: Side): void {
    if (this.open.size === 0) return
    const key = keyOf(record)
    if (key !== null) this.resolve(nameOf(key), record.offset, by)
  }

  /** Empties it: what is left has no later record of its key. */
  takeLeft(): OpenKey[] {
    const left = [...this.open.values()]
    this.open.clear()
    this.room.give(this.taken)
    this.taken = 0
    this.outOfRoom = false
    return left.sort((a, b) => a.offset - b.offset)
  }

  private resolve(name: string, offset: number, by?: Side): void {
    const entry = this.open.get(name)
    if (entry === undefined || entry.offset >= offset || (by !== undefined && entry.lackedBy !== by)) return
    this.open.delete(name)
    const bytes = ENTRY_BYTES + name.length
    this.taken -= bytes
    this.room.give(bytes)
    this.superseded++
  }
}

const nameOf = (key: Buffer): string =>
  key.length <= LONG_KEY ? key.toString('latin1') : `${createHash('sha256').update(key).digest('base64')}#${key.length}`
