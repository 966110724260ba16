/** `usage`: the caller asked for something that cannot be (exit code 2); `failure`: it could not be done (exit code 1). */
export type MirrorErrorKind = 'usage' | 'failure'

/** Stable names of what went wrong, for programs. */
export type MirrorErrorCode =
  | 'INVALID_NAME'
  | 'INVALID_CONFIG'
  | 'INVALID_THROTTLE'
  | 'INVALID_PATTERN'
  | 'INVALID_REQUEST'
  | 'UNKNOWN_MIRROR'
  | 'MIRROR_EXISTS'
  | 'UNKNOWN_TOPIC'
  | 'TOPIC_NOT_MIRRORED'
  | 'TOPIC_ALREADY_MIRRORED'
  | 'TOPIC_ID_MISMATCH'
  | 'TOPIC_HAS_OTHER_DATA'
  | 'TOPIC_RECREATED'
  | 'PARTITIONS_MISMATCH'
  | 'REPLICATION_FACTOR'
  | 'SAME_CLUSTER'
  | 'OTHER_CLUSTER'
  | 'SOURCE_UNREACHABLE'
  | 'DESTINATION_UNREACHABLE'
  | 'RIGHTS_MISSING'
  | 'STATE_UNREADABLE'
  | 'CONFLICT'
  | 'NOT_CONFIRMED'
  | 'TIMEOUT'
  | 'KAFKA'

/**
 * What every use case throws or returns per topic: one clear sentence without a stack, naming the mirror or topic,
 * with a stable `code` and, where there is something to do about it, `advice` (a sentence of its own).
 */
export class MirrorError extends Error {
  override readonly name = 'MirrorError'
  readonly kind: MirrorErrorKind
  readonly advice: string | undefined

  constructor(
    readonly code: MirrorErrorCode,
    message: string,
    options: { kind?: MirrorErrorKind; advice?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = options.kind ?? 'failure'
    this.advice = options.advice
  }
}

/** A usage error: wrong input, nothing was done. */
export function usageError(code: MirrorErrorCode, message: string, advice?: string): MirrorError {
  return new MirrorError(code, message, { kind: 'usage', advice })
}

/** A failure: the input was fine but could not be carried out. */
export function failure(code: MirrorErrorCode, message: string, advice?: string, cause?: unknown): MirrorError {
  return new MirrorError(code, message, { kind: 'failure', advice, cause })
}
