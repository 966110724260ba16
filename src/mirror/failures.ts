import { ConfigError, ConnectionError } from '../client/errors.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { failure, MirrorError, usageError } from './errors.js'

/** Kafka's own codes for a right that is missing. */
const NO_RIGHT: ReadonlySet<number> = new Set([
  Errors.TOPIC_AUTHORIZATION_FAILED,
  Errors.GROUP_AUTHORIZATION_FAILED,
  Errors.CLUSTER_AUTHORIZATION_FAILED,
  Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
])

export const isMissingRight = (error: unknown): error is KafkaError => error instanceof KafkaError && NO_RIGHT.has(error.code)

/** The cluster an error is about, as sentences name it: `the destination`, `the source of mirror m`. */
export interface Place {
  readonly side: 'source' | 'destination'
  readonly name: string
}

export const DESTINATION: Place = { side: 'destination', name: 'the destination' }
export const sourceOf = (mirror: string): Place => ({ side: 'source', name: `the source of mirror ${mirror}` })

/**
 * Any error as one that says what could not be done and where. `doing` completes "… while" or stands alone:
 * "topic t could not be created on the destination: …".
 */
export function toMirrorError(error: unknown, place: Place, doing?: string): MirrorError {
  if (error instanceof MirrorError) return error
  if (error instanceof ConfigError) return usageError('INVALID_CONFIG', error.message, error.advice)
  const subject = doing === undefined ? '' : `${doing}: `
  if (error instanceof ConnectionError) {
    const what = error.kind === 'authentication' ? `${place.name} refuses the login` : `${place.name} is out of reach`
    const code = place.side === 'source' ? 'SOURCE_UNREACHABLE' : 'DESTINATION_UNREACHABLE'
    return failure(code, `${subject}${what}: ${error.message}`, error.advice, error)
  }
  const reason = error instanceof Error ? error.message : String(error)
  const code = isMissingRight(error) ? 'RIGHTS_MISSING' : 'KAFKA'
  return failure(code, `${subject === '' ? `${place.name}: ` : subject}${reason}`, undefined, error)
}

/** Runs `action`; whatever it throws becomes a {@link MirrorError} about `place`. */
export async function about<T>(place: Place, doing: string | undefined, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    throw toMirrorError(error, place, doing)
  }
}
