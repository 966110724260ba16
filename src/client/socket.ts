import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { BrokerAddress } from './address.js'
import type { TlsSettings } from './tls.js'

export interface SocketOptions {
  readonly address: BrokerAddress
  readonly tls?: TlsSettings | undefined
  readonly connectionTimeoutMs: number
}

/** Who takes what a plain socket reads. */
export interface Sink {
  /** Memory the next bytes should lie in, if they have a place already. */
  readTarget(): Buffer | undefined
  processData(chunk: Buffer): void
}

const KEEP_ALIVE_MS = 60_000
const READ_BUFFER_BYTES = 64 * 1024

/** Opens a TCP or TLS socket that sends without delay; `onConnect` is called when it can be written to. */
export function openSocket({ address, tls, connectionTimeoutMs }: SocketOptions, onConnect: () => void, sink: Sink): Socket {
  const { host, port } = address
  // Each address of a name gets a fair try; Node's default of 250 ms is too short for far clusters.
  const common = { host, port, autoSelectFamilyAttemptTimeout: Math.max(1_000, connectionTimeoutMs / 4) }
  const socket =
    tls === undefined
      ? connectPlain({ ...common, onread: readInPlace(sink) }, onConnect)
      : connectTls(
          {
            ...common,
            secureContext: tls.secureContext,
            ...(isIP(host) === 0 ? { servername: host } : {}),
            ...(tls.verifyHostname ? {} : { checkServerIdentity: () => undefined }),
          },
          onConnect,
        )
  // kafkajs leaves Nagle's algorithm on, which delays pipelined requests behind unacknowledged ones.
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  return socket
}

/**
 * Lets the kernel write the body of a large response where it stays, and everything else into one buffer for the life of
 * the connection. By default Node allocates 64 kB for every read, which at hundreds of megabytes a second keeps the
 * garbage collector busier than the copying. TLS sockets have no such option.
 */
function readInPlace(sink: Sink) {
  const scratch = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)
  return {
    buffer: () => sink.readTarget() ?? scratch,
    callback: (size: number, buffer: Uint8Array) => {
      sink.processData((buffer as Buffer).subarray(0, size))
      return true
    },
  }
}
