import { createAcls, deleteAcls, type Result } from '../../client/admin.js'
import type { AclBinding } from '../../client/admin-acls.js'
import type { Cluster } from '../../client/cluster.js'
import { formatBinding } from '../../mirror/acl-bindings.js'
import type { MirrorState, StateRecord } from '../../mirror/fold.js'
import { erase, put, type SpecStore } from '../../mirror/spec-store.js'
import type { AclRecord } from '../../mirror/state.js'
import type { AclStep } from './step.js'

export interface Applying {
  readonly destination: Cluster
  readonly store: SpecStore
  /** Milliseconds since the epoch. */
  now(): number
  /** Whether a step is still right by the state as it is at the moment of writing. */
  isRight(state: MirrorState, step: AclStep): boolean
}

export interface Applied {
  /** Steps carried out that changed the destination. */
  readonly changed: readonly AclStep[]
  readonly refused: readonly { readonly step: AclStep; readonly error: Error }[]
}

/**
 * Carries steps out. A rule is on record before it is created, and a record outlives its rule: whatever is interrupted, no rule
 * of ours is left without a record, and the next round goes on. Creations come first, so that nobody loses a right in between.
 *
 * @throws ConnectionError
 * @throws MirrorError
 */
export async function applySteps(applying: Applying, steps: readonly AclStep[]): Promise<Applied> {
  const first = await decide(
    applying,
    steps.filter(({ effect }) => effect !== 'delete'),
    true,
  )
  const created = await send(
    first.filter(({ effect }) => effect === 'create'),
    (bindings) => createAcls(applying.destination, bindings),
  )
  // A rule that was refused and that somebody else creates later would look like ours.
  await write(
    applying,
    created.refused.filter(({ step }) => step.record !== undefined).map(({ step }) => ({ step, record: step.before ?? null })),
  )
  const second = await decide(
    applying,
    steps.filter(({ effect }) => effect === 'delete'),
    false,
  )
  const deleted = await send(second, (bindings) => deleteAcls(applying.destination, bindings))
  await write(
    applying,
    deleted.done.flatMap((step) => (step.record === undefined ? [] : [{ step, record: recorded(applying, step.record) }])),
  )
  return { changed: [...created.done, ...deleted.done], refused: [...created.refused, ...deleted.refused] }
}

/** The steps that are still right; with `record`, what they record is written in the same breath. */
async function decide(applying: Applying, steps: readonly AclStep[], record: boolean): Promise<readonly AclStep[]> {
  if (steps.length === 0) return []
  return applying.store.update((state) => {
    const right = steps.filter((step) => applying.isRight(state, step))
    const records = record
      ? right.flatMap((step) => (step.record === undefined ? [] : [recordFor(step, recorded(applying, step.record))]))
      : []
    return { records, result: right }
  })
}

async function write(applying: Applying, changes: readonly { step: AclStep; record: AclRecord | null }[]): Promise<void> {
  if (changes.length === 0) return
  await applying.store.update((state) => ({
    // Records of a mirror that was deleted meanwhile must not come back.
    records: changes
      .filter(({ step, record }) => record === null || state.mirror(step.mirror) !== undefined)
      .map(({ step, record }) => recordFor(step, record)),
    result: undefined,
  }))
}

const recorded = ({ now }: Applying, record: NonNullable<AclStep['record']> | null): AclRecord | null =>
  record === null ? null : { ...record, at: now() }

function recordFor({ mirror, binding }: AclStep, record: AclRecord | null): StateRecord {
  const key = { kind: 'acl', mirror, binding: formatBinding(binding) } as const
  return record === null ? erase(key) : put(key, record)
}

async function send(
  steps: readonly AclStep[],
  request: (bindings: readonly AclBinding[]) => Promise<ReadonlyArray<Result<void>>>,
): Promise<{ done: AclStep[]; refused: { step: AclStep; error: Error }[] }> {
  const done: AclStep[] = []
  const refused: { step: AclStep; error: Error }[] = []
  const answers = steps.length === 0 ? [] : await request(steps.map(({ binding }) => binding))
  for (const [i, step] of steps.entries()) {
    const answer = answers[i]!
    if (answer.ok) done.push(step)
    else refused.push({ step, error: answer.error })
  }
  return { done, refused }
}
