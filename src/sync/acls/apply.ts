import { createAcls, deleteAcls, type Result } from '../../client/admin.js'
import type { AclBinding } from '../../client/admin-acls.js'
import type { Cluster } from '../../client/cluster.js'
import { formatBinding } from '../../mirror/acl-bindings.js'
import type { MirrorState, StateRecord } from '../../mirror/fold.js'
import { erase, put, type SpecStore } from '../../mirror/spec-store.js'
import type { AclRecord } from '../../mirror/state.js'
import { type AclStep, recordOf, sameRecord } from './step.js'
import { undoingOf } from './undo.js'

export interface Applying {
  readonly destination: Cluster
  readonly store: SpecStore
  /** Milliseconds since the epoch. */
  now(): number
  /** Whether a step is still right by the state as it is at the moment of writing. */
  isRight(state: MirrorState, step: AclStep): boolean
  /** Asked right before the destination is: a runner that froze may have lost its place. What is on record is its heir's then. */
  mayGoOn?(): boolean
  /** What is created stays on record as pending, until somebody has looked what it does. */
  readonly onTrial?: boolean
}

export interface Applied {
  /** Steps carried out that changed the destination; `before` is what is on record now. */
  readonly changed: readonly AclStep[]
  readonly refused: readonly Refused[]
  /** Steps left out since their record is no longer the one they were planned on. */
  readonly stale: readonly AclStep[]
}

export interface Refused {
  readonly step: AclStep
  readonly error: Error
}

/** A step, and what is on record of its rule while it is carried out. */
interface Begun {
  readonly step: AclStep
  readonly meanwhile: AclRecord | undefined
}

/**
 * Carries steps out. Brokers cannot be asked for a rule on condition, so that a request may arrive when everything has changed. Hence a
 * step is on record as pending before it is asked for, and as done after, each only if nobody else changed the record meanwhile: whoever
 * finds a pending one knows what may still come, and who comes too late undoes what it did. Wherever that breaks off, the record names
 * the rule. Creations come first, so that nobody loses a right in between.
 *
 * @throws ConnectionError
 * @throws MirrorError
 */
export async function applySteps(applying: Applying, steps: readonly AclStep[]): Promise<Applied> {
  const creations = await carryOut(
    applying,
    steps.filter(({ effect }) => effect !== 'delete'),
  )
  const deletions = await carryOut(
    applying,
    steps.filter(({ effect }) => effect === 'delete'),
  )
  return {
    changed: [...creations.changed, ...deletions.changed],
    refused: [...creations.refused, ...deletions.refused],
    stale: [...creations.stale, ...deletions.stale],
  }
}

async function carryOut(applying: Applying, steps: readonly AclStep[]): Promise<Applied> {
  if (steps.length === 0) return { changed: [], refused: [], stale: [] }
  const { begun, stale } = await begin(applying, steps)
  const asking = begun.filter(({ step }) => step.effect !== 'none')
  if (asking.length === 0 || applying.mayGoOn?.() === false) return { changed: [], refused: [], stale }
  const outcomes = await send(applying.destination, asking)
  const { changed, undoing } = await settle(applying, outcomes)
  const refused = outcomes.flatMap(({ step, error }) => (error === undefined ? [] : [{ step, error }]))
  const { now, store, destination } = applying
  // Undoing one's own is right whoever has the place by now.
  const undone = await carryOut({ now, store, destination, isRight: () => true }, undoing)
  return { changed, refused: [...refused, ...undone.refused], stale }
}

async function begin(applying: Applying, steps: readonly AclStep[]): Promise<{ begun: readonly Begun[]; stale: readonly AclStep[] }> {
  return applying.store.update((state) => {
    const stale = steps.filter((step) => !sameRecord(recordOf(state, step), step.before))
    const begun = steps
      .filter((step) => !stale.includes(step) && applying.isRight(state, step))
      .map((step) => ({ step, meanwhile: meanwhile(step, applying.now()) }))
    const records = begun
      .filter(({ step, meanwhile }) => !sameRecord(meanwhile, step.before))
      .flatMap(({ step, meanwhile }) => recordFor(state, step, meanwhile))
    return { records, result: { begun, stale } }
  })
}

/** What is to be erased in the end stays on record as it is until then. */
function meanwhile({ effect, record, before }: AclStep, at: number): AclRecord | undefined {
  if (effect === 'none') return record === null ? undefined : { ...record, at }
  return record === null ? before : { ...record, at, pending: true }
}

interface Outcome extends Begun {
  readonly error: Error | undefined
}

async function send(destination: Cluster, begun: readonly Begun[]): Promise<Outcome[]> {
  const ask = async (effect: AclStep['effect'], request: (rules: readonly AclBinding[]) => Promise<ReadonlyArray<Result<void>>>) => {
    const asked = begun.filter(({ step }) => step.effect === effect)
    const answers = asked.length === 0 ? [] : await request(asked.map(({ step }) => step.binding))
    return asked.map((one, i) => ({ ...one, error: errorOf(answers[i]!) }))
  }
  const created = await ask('create', (rules) => createAcls(destination, rules))
  return [...created, ...(await ask('delete', (rules) => deleteAcls(destination, rules)))]
}

const errorOf = (answer: Result<void>): Error | undefined => (answer.ok ? undefined : answer.error)

/** Writes down what came of steps; what somebody else decided about meanwhile is to be undone, on record as that from now on. */
async function settle(applying: Applying, outcomes: readonly Outcome[]): Promise<{ changed: AclStep[]; undoing: AclStep[] }> {
  const { store, now, onTrial } = applying
  return store.update((state) => {
    const records: StateRecord[] = []
    const changed: AclStep[] = []
    const undoing: AclStep[] = []
    for (const { step, meanwhile, error } of outcomes) {
      const known = recordOf(state, step)
      if (sameRecord(known, meanwhile)) {
        const done = step.record === null ? undefined : onTrial ? meanwhile : { ...step.record, at: now() }
        const after = error === undefined ? done : afterRefusal(step, meanwhile)
        if (!sameRecord(known, after)) records.push(...recordFor(state, step, after))
        if (error === undefined) changed.push({ ...step, before: after })
      } else if (error === undefined) {
        const undo = undoingOf(state, step, known, now())
        if (undo === undefined) continue
        undoing.push(undo)
        if (undo.before !== undefined) records.push(...recordFor(state, undo, undo.before))
      }
    }
    return { records, result: { changed, undoing } }
  })
}

/**
 * A rule that was refused and that somebody else creates later would look like ours. But what a topic that has left was to get in the
 * stead of a withheld rule is known by this record alone: it stays pending, to be tried again.
 */
const afterRefusal = ({ left, effect, record, before }: AclStep, meanwhile: AclRecord | undefined): AclRecord | undefined =>
  left && effect === 'create' && record?.standsFor !== undefined ? meanwhile : before

/** Records of a mirror that was deleted meanwhile must not come back. */
function recordFor(state: MirrorState, { mirror, binding }: AclStep, record: AclRecord | undefined): StateRecord[] {
  if (state.mirror(mirror) === undefined) return []
  const key = { kind: 'acl', mirror, binding: formatBinding(binding) } as const
  return [record === undefined ? erase(key) : put(key, record)]
}
