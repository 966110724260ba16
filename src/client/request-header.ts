import type { TransportRequest } from './transport.js'

/** Request header v1, or v2 with an empty tagged-field section, preceded by the frame's length. */
export function requestHeader(request: TransportRequest, correlationId: number, clientId: string): Buffer {
  const client = Buffer.from(clientId)
  const size = 10 + client.length + (request.flexible ? 1 : 0)
  const buffer = Buffer.allocUnsafe(4 + size)
  buffer.writeInt32BE(
    request.body.reduce((sum, part) => sum + part.length, size),
    0,
  )
  buffer.writeInt16BE(request.apiKey, 4)
  buffer.writeInt16BE(request.apiVersion, 6)
  buffer.writeInt32BE(correlationId, 8)
  buffer.writeInt16BE(client.length, 12)
  client.copy(buffer, 14)
  if (request.flexible) buffer[14 + client.length] = 0
  return buffer
}
