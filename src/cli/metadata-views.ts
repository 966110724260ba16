import type { MirrorDescription, SyncState } from '../service/types.js'
import type { Column } from './table.js'
import { bracketed, isoTime } from './views.js'

export interface SyncRow extends SyncState {
  readonly mirror: string
}

/** The loops that keep a mirror's metadata, one a line. */
export const syncColumns: readonly Column<SyncRow>[] = [
  { header: 'MIRROR', value: (row) => row.mirror },
  { header: 'SYNC', value: (row) => row.loop },
  { header: 'RESULT', value: (row) => resultOf(row), colour: (row) => RESULT_COLOURS[resultOf(row)] },
  { header: 'LAST-SUCCESS', value: (row) => isoTime(row.lastSuccess) },
  { header: 'LAST-ROUND', value: (row) => isoTime(row.at) },
  { header: 'CHANGES', value: (row) => row.changes },
  { header: 'PROBLEMS', value: (row) => row.problems.length + row.moreProblems },
  { header: 'OWNER', value: (row) => row.owner },
  { header: 'ERROR', value: (row) => row.error, sentence: true },
]

const RESULT_COLOURS = { ok: 'green', problems: 'yellow', failed: 'red' } as const
const resultOf = ({ ok, problems }: SyncState) => (ok ? (problems.length > 0 ? 'problems' : 'ok') : 'failed')

export interface RemarkRow {
  readonly mirror: string
  /** The loop it comes from, `read-only` or `rights`. */
  readonly about: string
  readonly what: string
  readonly text: string
}

/** All that needs a sentence, one a line. */
export const remarkColumns: readonly Column<RemarkRow>[] = [
  { header: 'MIRROR', value: (row) => row.mirror },
  { header: 'ABOUT', value: (row) => row.about },
  { header: 'WHAT', value: (row) => row.what, colour: (row) => (row.what === 'problem' ? 'yellow' : undefined) },
  { header: 'TEXT', value: (row) => row.text, sentence: true },
]

export const syncRows = (mirrors: readonly MirrorDescription[]): SyncRow[] =>
  mirrors.flatMap(({ mirror, syncs }) => syncs.map((sync) => ({ mirror, ...sync })))

/** Problems and notes of the loops, which topics are guarded against writes and which only watched, and rights withheld. */
export function remarkRows(mirrors: readonly MirrorDescription[]): RemarkRow[] {
  return mirrors.flatMap(({ mirror, syncs, readOnly, withheldRights }) => [
    ...syncs.flatMap(({ loop, problems, moreProblems, notes }) => [
      ...problems.map(({ item, message }) => ({ mirror, about: loop, what: 'problem', text: `${item}: ${message}` })),
      ...(moreProblems > 0 ? [{ mirror, about: loop, what: 'problem', text: `and ${moreProblems} more` }] : []),
      ...notes.map((text) => ({ mirror, about: loop, what: 'note', text })),
    ]),
    ...(['guarded', 'watched'] as const).flatMap((what) =>
      readOnly[what].length === 0 ? [] : [{ mirror, about: 'read-only', what, text: bracketed(readOnly[what]) }],
    ),
    ...withheldRights.map((text) => ({ mirror, about: 'rights', what: 'withheld', text })),
  ])
}

/** A line per loop that could not sync some items: columns of partitions have no room for it. */
export function problemLines(mirrors: readonly MirrorDescription[]): string[] {
  return syncRows(mirrors).flatMap(({ mirror, loop, problems, moreProblems }) => {
    const [first] = problems
    if (first === undefined) return []
    const others = problems.length + moreProblems - 1
    return [`mirror ${mirror}: ${loop}: ${first.item}: ${first.message}${others > 0 ? ` (and ${others} more: -o wide, --json)` : ''}`]
  })
}

export const mirrorJson = (mirror: MirrorDescription) => ({
  ...mirror,
  syncs: mirror.syncs.map((sync) => ({ ...sync, at: isoTime(sync.at), lastSuccess: isoTime(sync.lastSuccess) })),
})
