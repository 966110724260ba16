/**
 * The parts of kafkajs 2.2.4 that `kafkajs.ts` repairs and uses. They are not public there, so the version is pinned.
 * The only place of the project where kafkajs' own shapes are described.
 */
declare module 'kafkajs/src/network/connection.js' {
  import type { Socket } from 'node:net'
  import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'

  export interface KafkajsLogger {
    namespace(name: string): KafkajsLogger
    debug(): void
    info(): void
    warn(): void
    error(): void
  }

  export interface KafkajsSocketRequest {
    readonly host: string
    readonly port: number
    readonly onConnect: () => void
  }

  export interface KafkajsConnectionOptions {
    host: string
    port: number
    clientId: string
    logger: KafkajsLogger
    socketFactory: (request: KafkajsSocketRequest) => Socket
    sasl: { mechanism: string; username: string; password: string } | null
    connectionTimeout: number
    requestTimeout: number
  }

  // biome-ignore lint/suspicious/noExplicitAny: kafkajs' own request and response objects, passed through unread
  export type KafkajsMessage = { request: any; response: any; requestTimeout?: number }

  export default class Connection {
    constructor(options: KafkajsConnectionOptions)
    requestQueue: RequestQueue
    /** A Long. */
    sessionLifetime: { toNumber(): number }
    authenticatedAt: unknown
    connectionStatus: string
    socket: Socket | undefined
    setVersions(versions: Record<number, { minVersion: number; maxVersion: number }>): void
    setSupportAuthenticationProtocol(supported: boolean): void
    connect(): Promise<boolean>
    disconnect(): Promise<boolean>
    isConnected(): boolean
    authenticate(): Promise<void>
    send(message: KafkajsMessage): Promise<unknown>
    nextCorrelationId(): number
    processData(chunk: Buffer): void
    rejectRequests(error: Error): void
  }
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  export interface KafkajsEntry {
    apiKey: number
    apiName: string
    apiVersion: number
    correlationId: number
    resolve(response: { payload: Buffer; size: number }): void
    reject(error: Error): void
  }

  export default class RequestQueue {
    constructor(options: {
      maxInFlightRequests: number | null
      requestTimeout: number
      enforceRequestTimeout: boolean
      clientId: string
      broker: string
      logger: unknown
      isConnected: () => boolean
    })
    inflight: Map<number, { rejected(error: Error): void }>
    push(request: { entry: KafkajsEntry; expectResponse: boolean; requestTimeout: number | null; sendRequest: () => void }): void
    fulfillRequest(response: { correlationId: number; payload: Buffer; size: number }): void
    rejectAll(error: Error): void
    scheduleRequestTimeoutCheck(): void
    scheduleCheckPendingRequests(): void
    maybeThrottle(milliseconds: number | null): void
    destroy(): void
  }
}
