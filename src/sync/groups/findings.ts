import { UnsupportedVersionError } from '../../client/errors.js'
import type { Result } from '../../client/result.js'
import { spelled } from '../../mirror/spelled.js'
import { Errors, KafkaError } from '../../protocol/index.js'
import type { SyncReport } from '../types.js'
import { isActive, reasonOf, type Side } from './refusals.js'

/** What a round finds on its way, group by group. */
export class Findings {
  changes = 0
  private readonly problems: { item: string; message: string }[] = []
  private readonly active = new Set<string>()
  private readonly unsupported = new Map<string, string[]>()

  problem(item: string, message: string): void {
    // Kafka allows a group without a name.
    this.problems.push({ item: item === '' ? "''" : item, message })
  }

  leftAlone(groupId: string): void {
    this.active.add(groupId)
  }

  /** The value, or undefined and the reason kept: `doing` begins it, `side` is who was asked. */
  take<T>(result: Result<T>, groupId: string, side: Side, doing: string): T | undefined {
    if (result.ok) return result.value
    const { error } = result
    if (error instanceof UnsupportedVersionError) this.unsupported.set(side, [...(this.unsupported.get(side) ?? []), groupId])
    else if (isActive(error)) this.active.add(groupId)
    else this.problem(groupId, `${doing}: ${reasonOf(error, side)}`)
    return undefined
  }

  report(): SyncReport {
    const notes = [...this.unsupported].map(
      ([side, groups]) => `the ${side} keeps no positions of share groups (Kafka 4.1 or later does): ${spelled(groups.sort())}`,
    )
    if (this.active.size > 0) notes.push(`left alone, since they have members on the destination: ${spelled([...this.active].sort())}`)
    return { changes: this.changes, problems: this.problems, notes }
  }
}

/** It was listed a moment ago and is gone. */
export const isGone = (result: Result<unknown>): boolean =>
  !result.ok && result.error instanceof KafkaError && result.error.code === Errors.GROUP_ID_NOT_FOUND
