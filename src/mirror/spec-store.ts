import { failure, MirrorError } from './errors.js'
import type { MirrorEntry, MirrorState, StateRecord } from './fold.js'
import type { MirrorSpec, StateKind, StateValues } from './state.js'
import { formatKey, type StateKey } from './state-keys.js'
import { encodeValue } from './state-values.js'

/** What to write, and what to tell the caller once it is written. */
export interface Decision<T> {
  readonly records: readonly StateRecord[]
  readonly result: T
}

/** An existing mirror. */
export type Mirror = MirrorEntry & { readonly spec: MirrorSpec }

/** The part of the state that is changed under one lock, by operators' commands and runners' loops alike. */
export interface SpecStore {
  /**
   * `decide` sees the state as it is at the moment of writing (spec and result keys only), may throw, and is asked again
   * whenever somebody else was faster. All records are written, or none. Throws MirrorError.
   */
  update<T>(decide: (state: MirrorState) => Decision<T>): Promise<T>
}

/** The state as it is now, not as a reader that follows it knows it: the last word of operators. Throws MirrorError. */
export const latestState = (store: SpecStore): Promise<MirrorState> => store.update((state) => ({ records: [], result: state }))

/** Throws what an unreadable record means for whoever is about to decide by the state: STATE_UNREADABLE. */
export function readable(state: MirrorState, topic: string): MirrorState {
  const [problem] = state.problems
  if (problem === undefined) return state
  throw failure('STATE_UNREADABLE', `record ${problem[0]} of topic ${topic} cannot be read: ${problem[1]}`)
}

/** A record that sets a key. */
export function put<K extends StateKind>(key: StateKey & { kind: K }, value: StateValues[K]): StateRecord {
  return { key: formatKey(key), value: encodeValue<K>(key.kind, value) }
}

/** A record that removes a key. */
export const erase = (key: StateKey): StateRecord => ({ key: formatKey(key), value: null })

/** The mirror, or MirrorError UNKNOWN_MIRROR. */
export function mustExist(state: MirrorState, name: string): Mirror {
  const mirror = state.mirror(name)
  if (mirror !== undefined) return mirror
  const known = state.mirrors().map((entry) => entry.name)
  throw new MirrorError('UNKNOWN_MIRROR', `there is no mirror ${name}`, {
    advice: known.length === 0 ? 'There are no mirrors yet; create one first.' : `Mirrors: ${known.slice(0, 20).join(', ')}.`,
  })
}
