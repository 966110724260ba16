import { ERROR_TABLE } from './error-table.js'

/** One of Kafka's error names, such as `NOT_LEADER_OR_FOLLOWER`. */
export type KafkaErrorName = keyof typeof ERROR_TABLE

/** What is known of an error code. */
export interface KafkaErrorInfo {
  readonly code: number
  /** Kafka's name for it, or `UNKNOWN_ERROR_CODE` if it is newer than our table. */
  readonly name: KafkaErrorName | 'UNKNOWN_ERROR_CODE'
  readonly retriable: boolean
  readonly message: string
}

/** Codes by name: `Errors.NOT_LEADER_OR_FOLLOWER` is 6. */
export const Errors = Object.fromEntries(Object.entries(ERROR_TABLE).map(([name, error]) => [name, error.code])) as {
  readonly [N in KafkaErrorName]: (typeof ERROR_TABLE)[N]['code']
}

const BY_CODE: ReadonlyMap<number, KafkaErrorInfo> = new Map(
  Object.entries(ERROR_TABLE).map(([name, error]) => [error.code, { name: name as KafkaErrorName, ...error }]),
)

/** What `code` means. A code that this table does not know is not retriable, and its message names the number. */
export function errorOf(code: number): KafkaErrorInfo {
  return BY_CODE.get(code) ?? { code, name: 'UNKNOWN_ERROR_CODE', retriable: false, message: `The broker answered with error ${code}.` }
}

/** An error that a broker answered with. */
export class KafkaError extends Error {
  override readonly name = 'KafkaError'

  constructor(
    readonly code: number,
    readonly kafkaName: string,
    readonly retriable: boolean,
    message: string,
  ) {
    super(message)
  }
}

/** The error for `code`; `serverMessage` is the text that came with it, which says more than ours, if it says anything. */
export function kafkaError(code: number, serverMessage?: string | null): KafkaError {
  const known = errorOf(code)
  return new KafkaError(code, known.name, known.retriable, `${known.name}: ${serverMessage || known.message}`)
}
