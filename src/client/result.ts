import { kafkaError } from '../protocol/index.js'

/** One item's outcome in a request for many: its value, or the KafkaError or ConnectionError that kept it from happening. */
export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error }

export const success = <T>(value: T): Result<T> => ({ ok: true, value })

export const failed = (error: Error): Result<never> => ({ ok: false, error })

/** `value` if the error code is 0, else the error with the broker's own words. */
export const resultOf = <T>(errorCode: number, message: string | null | undefined, value: T): Result<T> =>
  errorCode === 0 ? success(value) : failed(kafkaError(errorCode, message))

/** The value, or its error thrown. */
export function unwrap<T>(result: Result<T>): T {
  if (!result.ok) throw result.error
  return result.value
}
