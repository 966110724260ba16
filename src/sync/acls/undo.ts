import type { MirrorState } from '../../mirror/fold.js'
import type { AclRecord } from '../../mirror/state.js'
import type { AclStep } from './step.js'

/**
 * What makes good a step that was carried out after somebody else had decided otherwise: `known` is what is on record by then. A topic
 * that was released meanwhile keeps neither the guard nor a stand-in, and is not deprived of what was withheld. Undefined where nothing
 * is to be made good: another rule of the source is as right on a topic that has left. `before` goes on record at once.
 */
export function undoingOf(state: MirrorState, step: AclStep, known: AclRecord | undefined, at: number): AclStep | undefined {
  const isThere = state.mirror(step.mirror) !== undefined
  const { mirror, binding, record } = step
  if (step.effect === 'create' && known === undefined && record !== null && (record.what === 'guard' || record.standsFor !== undefined)) {
    return { mirror, binding, effect: 'delete', record: null, before: isThere ? { ...record, at, pending: true } : undefined }
  }
  if (step.effect === 'delete' && record?.what === 'withheld' && known?.what !== 'withheld') {
    const created = { what: 'created' } as const
    return { mirror, binding, effect: 'create', record: created, before: isThere ? { ...created, at, pending: true } : undefined }
  }
  return undefined
}
