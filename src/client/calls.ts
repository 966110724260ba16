import { type Api, Errors, errorOf, KafkaError, type RequestOf, type ResponseOf } from '../protocol/index.js'
import type { BrokerAddress } from './address.js'
import type { ClientConfig } from './config.js'
import type { Connection, SendOptions } from './connection.js'
import { ConnectionError, type ConnectionErrorKind } from './errors.js'
import { type Clock, retrying } from './retry.js'

export interface CallOptions<A extends Api = Api> extends SendOptions {
  /** Milliseconds for all attempts together; default `deadlineMs` of the configuration. */
  readonly deadlineMs?: number
  /** False: never send again what the broker may have received; the error then has `uncertain`. Default true. */
  readonly retry?: boolean
  /**
   * The error codes in a response. Given, those that mean a stale route (not leader, not coordinator, …) lead to a refresh
   * and another try until the deadline, when the response is given as it is.
   */
  readonly errorsOf?: (response: ResponseOf<A>) => Iterable<number>
}

/** Attempts at an address that never worked, or for a topic nobody knows: long enough for a cluster to settle. */
const UNPROVEN_ATTEMPTS = 4

const STALE_ROUTE: ReadonlySet<number> = new Set([
  Errors.UNKNOWN_TOPIC_OR_PARTITION,
  Errors.LEADER_NOT_AVAILABLE,
  Errors.NOT_LEADER_OR_FOLLOWER,
  Errors.REPLICA_NOT_AVAILABLE,
  Errors.COORDINATOR_LOAD_IN_PROGRESS,
  Errors.COORDINATOR_NOT_AVAILABLE,
  Errors.NOT_COORDINATOR,
  Errors.NOT_CONTROLLER,
  Errors.KAFKA_STORAGE_ERROR,
  Errors.FENCED_LEADER_EPOCH,
  Errors.UNKNOWN_LEADER_EPOCH,
])

/** Whether an error code means that another broker should be asked, or the same one a little later. */
export const isStaleRoute = (errorCode: number): boolean => STALE_ROUTE.has(errorCode)

/** The answer says the route was stale; held until a fresh route answers or the time is up. */
class StaleRoute extends Error {
  constructor(
    readonly code: number,
    readonly response: unknown,
  ) {
    super(errorOf(code).message)
  }
}

/** Finds the connection of one attempt; `stale` after a failed one. */
export type Route = (stale: boolean) => Promise<Connection>

export interface CallContext {
  readonly clock: Clock
  /** Aborted when the client is closed. */
  readonly signal: AbortSignal
  config(): ClientConfig
  /** Whether a connection to this address has ever worked. */
  proven(address: BrokerAddress): boolean
  error(kind: ConnectionErrorKind, reason: string): ConnectionError
}

/** Makes calls: routes, sends, and repeats what another attempt can heal, until the deadline. */
export class Calls {
  constructor(private readonly context: CallContext) {}

  async make<A extends Api>(route: Route, api: A, request: RequestOf<A>, options: CallOptions<A>): Promise<ResponseOf<A>> {
    const { clock, signal } = this.context
    const config = this.context.config()
    let previous: unknown
    try {
      return await retrying(
        {
          clock,
          signal,
          deadlineMs: options.deadlineMs ?? config.deadlineMs,
          backoff: config.retryBackoffMs,
          attemptsFor: (error) => this.attemptsFor(error, options.retry ?? true),
        },
        async (failures, leftMs) => {
          if (signal.aborted) throw this.context.error('closed', 'the client is closed')
          try {
            // What failed before says more than that the time ran out.
            const late = () => previous ?? this.context.error('timeout', `no connection within ${Math.round(leftMs)} ms`)
            const connection = await within(leftMs, clock, route(failures > 0), late)
            return await sendOn(connection, api, request, options)
          } catch (error) {
            previous = error
            throw error
          }
        },
      )
    } catch (error) {
      if (error instanceof StaleRoute) return error.response as ResponseOf<A>
      throw error
    }
  }

  private attemptsFor(error: unknown, resend: boolean): number {
    if (error instanceof StaleRoute) return Number.POSITIVE_INFINITY
    if (error instanceof KafkaError) {
      if (error.code === Errors.UNKNOWN_TOPIC_OR_PARTITION) return UNPROVEN_ATTEMPTS
      return error.retriable ? Number.POSITIVE_INFINITY : 1
    }
    if (!(error instanceof ConnectionError) || !error.retriable) return 1
    if (error.uncertain && !resend) return 1
    return this.context.proven(error.address) ? Number.POSITIVE_INFINITY : UNPROVEN_ATTEMPTS
  }
}

/** One request on one connection, which is given up when it stalls. */
export async function sendOn<A extends Api>(
  connection: Connection,
  api: A,
  request: RequestOf<A>,
  options: CallOptions<A>,
): Promise<ResponseOf<A>> {
  try {
    const response = await connection.send(api, request, options)
    for (const code of options.errorsOf?.(response) ?? []) if (isStaleRoute(code)) throw new StaleRoute(code, response)
    return response
  } catch (error) {
    // Answers come in order: behind one that is late everything else on this connection is late too.
    if (error instanceof ConnectionError && error.kind === 'timeout') void connection.close()
    throw error
  }
}

async function within<T>(milliseconds: number, clock: Clock, promise: Promise<T>, late: () => unknown): Promise<T> {
  let cancel = () => {}
  const timer = new Promise<never>((_, reject) => {
    cancel = clock.after(milliseconds, () => reject(late()))
  })
  try {
    return await Promise.race([promise, timer])
  } finally {
    cancel()
  }
}
