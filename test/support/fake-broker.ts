import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { ApiVersions, encodeResponse, Fetch, Metadata } from '../../src/protocol/index.js'

/** One request as it came, with what a script needs to answer it. */
export interface FakeRequest {
  readonly apiKey: number
  readonly apiVersion: number
  readonly correlationId: number
  readonly clientId: string
  readonly body: Buffer
  readonly socket: Socket
  /** Sends a response body (after the correlation id). */
  reply(body: Buffer): void
}

export interface FakeBroker {
  readonly port: number
  readonly sockets: readonly Socket[]
  /** Requests other than ApiVersions, in their order. */
  readonly requests: readonly FakeRequest[]
  close(): Promise<void>
}

/** A TCP server that does with each connection what it is told. */
export async function serve(onConnection: (socket: Socket) => void): Promise<{ port: number; sockets: Socket[]; close(): Promise<void> }> {
  const sockets: Socket[] = []
  const server: Server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A broker that negotiates Metadata and Fetch and hands every other request to the script. */
export async function fakeBroker(script: (request: FakeRequest) => void): Promise<FakeBroker> {
  const requests: FakeRequest[] = []
  const server = await serve((socket) => {
    let pending = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      pending = Buffer.concat([pending, chunk])
      while (pending.length >= 4 && pending.length >= 4 + pending.readInt32BE(0)) {
        const frame = pending.subarray(4, 4 + pending.readInt32BE(0))
        pending = pending.subarray(4 + frame.length)
        const request = read(frame, socket)
        if (request.apiKey === ApiVersions.key) request.reply(versions(request.apiVersion))
        else {
          requests.push(request)
          script(request)
        }
      }
    })
  })
  return { ...server, requests }
}

/** The frame of a response: length, correlation id, body. */
export function frameOf(correlationId: number, body: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeInt32BE(4 + body.length, 0)
  head.writeInt32BE(correlationId, 4)
  return Buffer.concat([head, body])
}

/** A Metadata v12 response body with its empty header tags. */
export function metadataBody(clusterId: string): Buffer {
  const response = { throttleTimeMs: 0, brokers: [], clusterId, controllerId: 1, topics: [] }
  return Buffer.concat([Buffer.of(0), ...encodeResponse(Metadata, 12, response)])
}

function read(frame: Buffer, socket: Socket): FakeRequest {
  const correlationId = frame.readInt32BE(4)
  const size = frame.readInt16BE(8)
  return {
    apiKey: frame.readInt16BE(0),
    apiVersion: frame.readInt16BE(2),
    correlationId,
    clientId: frame.toString('utf8', 10, 10 + size),
    body: frame.subarray(10 + size),
    socket,
    reply: (body) => socket.write(frameOf(correlationId, body)),
  }
}

function versions(apiVersion: number): Buffer {
  const apiKeys = [ApiVersions, Metadata, Fetch].map((api) => ({
    apiKey: api.key,
    minVersion: api.versions.min,
    maxVersion: api === Metadata ? 12 : api.versions.max,
  }))
  return Buffer.concat(encodeResponse(ApiVersions, apiVersion, { errorCode: 0, apiKeys, throttleTimeMs: 0 }))
}
