/** Where an HTTP server listens. Without a host: on every interface. Port 0: any free one. */
export interface ListenAddress {
  readonly host: string | undefined
  readonly port: number
}

/** An address to listen on that is not `host:port`; wrong use. */
export class ListenAddressError extends Error {
  override readonly name = 'ListenAddressError'
  readonly kind = 'usage'
}

/**
 * `127.0.0.1:9640`, `[::1]:9640`, `localhost:9640`, or `:9640` for every interface.
 * @throws {ListenAddressError}
 */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-f:.]+(?:%[\w.-]+)?)\]|([^\s:[\]/]*)):(\d{1,5})$/i.exec(text.trim())
  const port = Number(match?.[3])
  if (match === null || port > 65_535) {
    throw new ListenAddressError(`'${text}' is not an address to listen on: write host:port, for example 127.0.0.1:9640 or [::1]:9640`)
  }
  return { host: match[1] ?? (match[2] || undefined), port }
}

export function formatListenAddress({ host, port }: ListenAddress): string {
  return host === undefined ? `:${port}` : host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
