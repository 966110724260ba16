import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RunnerSnapshot } from '../engine/events.js'
import { readinessOf } from './health.js'
import { formatListenAddress, type ListenAddress } from './listen-address.js'
import { createMetrics, type Metrics, type MetricsOptions } from './metrics.js'

/** The server can't listen where it was told to. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly advice: string | undefined
  constructor(
    readonly address: ListenAddress,
    cause: NodeJS.ErrnoException,
  ) {
    const { text, advice } = LISTEN_FAILURES[cause.code ?? ''] ?? { text: cause.message }
    super(`can't listen on ${formatListenAddress(address)}: ${text}`, { cause })
    this.advice = advice
  }
}

const LISTEN_FAILURES: Readonly<Record<string, { text: string; advice?: string }>> = {
  EADDRINUSE: { text: 'the port is in use', advice: 'choose another with --http, or stop what listens there' },
  EACCES: { text: 'not allowed to use this port', advice: 'choose one above 1023' },
  EADDRNOTAVAIL: { text: 'this machine has no such address' },
  ENOTFOUND: { text: 'the host name does not resolve' },
}

export interface ObserverServer {
  /** Where it really listens, port 0 replaced by the one given: `127.0.0.1:9640`. */
  readonly address: string
  /** Ends open connections too. */
  close(): Promise<void>
}

/**
 * Serves `/livez` (the process answers), `/readyz` (see {@link readinessOf}; 503 otherwise) and `/metrics`. It has no
 * authentication and changes nothing.
 * @throws {ListenError}
 */
export async function serveHttp(address: ListenAddress, options: MetricsOptions): Promise<ObserverServer> {
  const metrics = createMetrics(options)
  const server = createServer((request, response) => void answer(request, response, options.snapshot, metrics))
  try {
    await listen(server, address)
  } catch (error) {
    metrics.close()
    throw error
  }
  const bound = server.address() as AddressInfo
  return {
    address: formatListenAddress({ host: address.host, port: bound.port }),
    close: () =>
      new Promise((resolve) => {
        metrics.close()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listen(server: Server, address: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new ListenError(address, error)))
    server.listen({ host: address.host, port: address.port }, resolve)
  })
}

async function answer(request: IncomingMessage, response: ServerResponse, snapshot: () => RunnerSnapshot, metrics: Metrics): Promise<void> {
  const path = request.url?.split('?')[0] ?? ''
  const send = (status: number, body: string, headers: Record<string, string> = {}) => {
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
  if (!PATHS.has(path)) return send(404, `not found; there are ${[...PATHS].join(', ')}\n`)
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(405, 'only GET\n', { allow: 'GET, HEAD' })
  try {
    if (path === '/livez') return send(200, 'ok\n')
    if (path === '/metrics') return send(200, await metrics.render(), { 'content-type': metrics.contentType })
    const { ready, reason } = readinessOf(snapshot())
    send(ready ? 200 : 503, `${ready ? 'ready' : 'not ready'}: ${reason}\n`)
  } catch (error) {
    send(500, `${error instanceof Error ? error.message : String(error)}\n`)
  }
}

const PATHS = new Set(['/livez', '/readyz', '/metrics'])
