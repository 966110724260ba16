/** Where a broker listens. An IPv6 host is held without its brackets. */
export interface BrokerAddress {
  readonly host: string
  readonly port: number
}

/** An address that isn't `host:port`; the message is a sentence for the user. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
}

/** `host:port` as users type it; IPv6 literals get their brackets back. */
export function formatAddress(address: BrokerAddress): string {
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
}

/**
 * One `host:port`. `:9092` means localhost, as the KIP writes it, and IPv6 literals need brackets: `[::1]:9092`.
 * A protocol prefix such as `PLAINTEXT://` is taken off, as Kafka's own ClientUtils does.
 *
 * @throws AddressError
 */
export function parseAddress(text: string): BrokerAddress {
  const trimmed = text.trim()
  const scheme = /^([a-z][a-z0-9+._-]*):\/\//i.exec(trimmed)?.[1]
  if (scheme !== undefined && /^https?$/i.test(scheme)) {
    throw new AddressError(`'${trimmed}' is a web address; a Kafka broker is given as host:port`)
  }
  const bare = scheme === undefined ? trimmed : trimmed.slice(scheme.length + 3)
  const match = /^(?:\[([^\]\s]*)\]|([^:\s/@[\],]*)):(\d{1,5})$/.exec(bare)
  if (match === null) throw new AddressError(`'${trimmed}' is not an address of the form host:port${hint(bare)}`)
  const port = Number(match[3])
  if (port < 1 || port > 65_535) throw new AddressError(`'${trimmed}' has port ${port}; ports go from 1 to 65535`)
  const host = match[1] ?? match[2] ?? ''
  if (match[1] !== undefined && !/^[0-9a-f:.]+(%[\w.-]+)?$/i.test(host)) {
    throw new AddressError(`'${trimmed}' has brackets, but what they hold is not an IPv6 address`)
  }
  return { host: host === '' ? 'localhost' : host, port }
}

/**
 * The value of `bootstrap.servers`: addresses parted by commas, repeated ones once.
 *
 * @throws AddressError also when the list is empty.
 */
export function parseBootstrapServers(text: string): BrokerAddress[] {
  const parts = text.split(',').map((part) => part.trim())
  const found = new Map<string, BrokerAddress>()
  for (const part of parts.filter((part) => part !== '')) {
    const address = parseAddress(part)
    found.set(formatAddress(address), address)
  }
  if (found.size === 0) throw new AddressError('no address given; brokers are listed as host:port,host:port')
  return [...found.values()]
}

function hint(text: string): string {
  if (/^[^:[\]]+$/.test(text)) return ': the port is missing'
  if ((text.match(/:/g) ?? []).length > 1 && !text.startsWith('[')) return ': an IPv6 address needs brackets, [::1]:9092'
  return ''
}
