import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { openConnection } from '../../src/client/connection.js'
import { ConnectionError } from '../../src/client/errors.js'
import { encodeResponse, Metadata } from '../../src/protocol/index.js'
import { makeIdentity } from '../support/certificates.js'
import { type FakeBroker, type FakeRequest, fakeBroker, frameOf, metadataBody, serve } from '../support/fake-broker.js'

// Faults that no real broker commits on demand, played by a scripted TCP server.

const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const configOf = (properties: Record<string, string> = {}) =>
  clientConfigOf(
    new Map(Object.entries({ 'bootstrap.servers': '127.0.0.1:1', 'socket.connection.setup.timeout.ms': '2000', ...properties })),
  ).config

async function connect(port: number, properties: Record<string, string> = {}) {
  const connection = await openConnection({ host: '127.0.0.1', port }, configOf(properties))
  closing.push(() => connection.close())
  return connection
}

async function broker(script: (request: FakeRequest) => void): Promise<FakeBroker> {
  const fake = await fakeBroker(script)
  closing.push(() => fake.close())
  return fake
}

async function server(onConnection: (socket: Socket) => void): Promise<number> {
  const fake = await serve(onConnection)
  closing.push(() => fake.close())
  return fake.port
}

const failureOf = (promise: Promise<unknown>): Promise<ConnectionError> =>
  promise.then(
    () => {
      throw new Error('it should have failed')
    },
    (error) => {
      expect(error).toBeInstanceOf(ConnectionError)
      return error
    },
  )

const ask = (connection: Awaited<ReturnType<typeof connect>>, timeoutMs?: number) =>
  connection.send(Metadata, { topics: [] }, { timeoutMs })

test('an answer that comes after its timeout is dropped, and the connection goes on', async () => {
  const held: FakeRequest[] = []
  const fake = await broker((request) => {
    if (fake.requests.length === 1) held.push(request)
    else request.reply(metadataBody(`cluster-${fake.requests.length}`))
  })
  const connection = await connect(fake.port)
  const late = await failureOf(ask(connection, 50))
  expect(late).toMatchObject({ kind: 'timeout', uncertain: true, reason: 'no answer to Metadata within 50 ms' })
  held[0]!.reply(metadataBody('too late'))
  expect((await ask(connection)).clusterId).toBe('cluster-2')
  expect((await ask(connection)).clusterId).toBe('cluster-3')
  expect([connection.open, connection.pending]).toEqual([true, 0])
})

test('any split of the stream gives the same answers', async () => {
  const answers = ['a', 'b'.repeat(300), 'c'.repeat(70_000)]
  for (const size of [1, 2, 3, 4, 5, 7, 100, 4096, 65_536]) {
    const waiting: FakeRequest[] = []
    const fake = await broker((request) => {
      waiting.push(request)
      if (waiting.length < answers.length) return
      const stream = Buffer.concat(waiting.map((r, i) => frameOf(r.correlationId, metadataBody(answers[i]!.slice(0, 30_000)))))
      request.socket.setNoDelay(true)
      for (let at = 0; at < stream.length; at += size) request.socket.write(stream.subarray(at, at + size))
    })
    const connection = await connect(fake.port)
    const got = await Promise.all(answers.map(() => ask(connection)))
    expect(got.map((answer) => answer.clusterId)).toEqual(answers.map((answer) => answer.slice(0, 30_000)))
  }
})

test('requests are written in the order of the calls, and no faster than the peer reads', async () => {
  const fake = await broker((request) => request.reply(metadataBody('x')))
  const connection = await connect(fake.port)
  await ask(connection)
  const socket = fake.sockets[0]!
  socket.pause()
  const names = Array.from({ length: 400 }, (_, i) => `${i}-${'n'.repeat(30_000)}`)
  const answers = names.map((name) => connection.send(Metadata, { topics: [{ name }] }))
  // The kernel takes some of the 12 MB, we hold back the rest, and a request never written is not uncertain.
  const unsent = await failureOf(connection.send(Metadata, { topics: [] }, { timeoutMs: 30 }))
  expect(unsent).toMatchObject({ kind: 'timeout', uncertain: false })
  socket.resume()
  await Promise.all(answers)
  const order = fake.requests.slice(1).map((request) => Number(/(\d+)-nnn/.exec(request.body.toString('latin1'))?.[1]))
  expect(order).toEqual(names.map((_, i) => i))
})

test('an HTTP server is recognised', async () => {
  const http = createHttpServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(http, 'listening')
  closing.push(async () => http.close())
  const error = await failureOf(connect((http.address() as AddressInfo).port))
  expect(error).toMatchObject({ kind: 'protocol', reason: 'an HTTP server answered' })
})

test('something that greets first is quoted', async () => {
  const port = await server((socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'))
  expect(await failureOf(connect(port))).toMatchObject({
    kind: 'protocol',
    reason: 'something that is not Kafka answered: "SSH-2.0-OpenSSH_9.9"',
  })
})

test('a TLS port is recognised by a plain client', async () => {
  // A fatal alert, as TLS stacks answer plain text.
  const port = await server((socket) => socket.once('data', () => socket.end(Buffer.from('15030300020246', 'hex'))))
  expect(await failureOf(connect(port))).toMatchObject({
    kind: 'protocol',
    reason: 'this looks like a TLS port',
    advice: 'set security.protocol=SSL (or SASL_SSL)',
  })
})

test('a plain port is recognised by a TLS client', async () => {
  const closed = await server((socket) => socket.once('data', () => socket.destroy()))
  const talks = await server((socket) => socket.once('data', () => socket.end(Buffer.from('0000000400000000', 'hex'))))
  for (const port of [closed, talks]) {
    const error = await failureOf(connect(port, { 'security.protocol': 'SSL' }))
    expect(error.kind).toBe('tls')
    expect(error.advice).toContain('security.protocol=PLAINTEXT')
  }
})

test('a certificate for another host is refused, unless that check is off', async () => {
  const authority = makeIdentity('authority')
  const identity = makeIdentity('broker', authority, ['broker.elsewhere'])
  const tls = createTlsServer({ key: identity.keyPem, cert: identity.certificatePem }, (socket) => socket.on('error', () => {}).end('HTTP'))
  tls.on('tlsClientError', () => {})
  tls.listen(0, '127.0.0.1')
  await once(tls, 'listening')
  closing.push(async () => tls.close())
  const { port } = tls.address() as AddressInfo
  const settings = { 'security.protocol': 'SSL', 'ssl.truststore.certificates': authority.certificatePem }
  const other = await failureOf(connect(port, settings))
  expect(other).toMatchObject({ kind: 'tls', reason: expect.stringContaining("the broker's certificate is for another host") })
  expect(other.advice).toContain('ssl.endpoint.identification.algorithm')
  const past = await failureOf(connect(port, { ...settings, 'ssl.endpoint.identification.algorithm': '' }))
  expect(past.reason).toBe('an HTTP server answered')
})

test('lengths that cannot be are refused', async () => {
  for (const length of [-1, 0, 3, 0x7fffffff]) {
    const port = await server((socket) => {
      const head = Buffer.alloc(8)
      head.writeInt32BE(length, 0)
      socket.write(head)
    })
    expect(await failureOf(connect(port))).toMatchObject({
      kind: 'protocol',
      reason: `the answer is not Kafka's protocol: a message of ${length} bytes`,
    })
  }
})

test('an answer nobody asked for ends the connection', async () => {
  const fake = await broker((request) => request.socket.write(frameOf(request.correlationId + 1000, metadataBody('x'))))
  const connection = await connect(fake.port)
  expect(await failureOf(ask(connection))).toMatchObject({ kind: 'protocol', uncertain: true })
  expect(connection.open).toBe(false)
})

test('a server that accepts and never answers is a timeout', async () => {
  const silent = await server(() => {})
  const plain = await failureOf(connect(silent, { 'socket.connection.setup.timeout.ms': '200' }))
  expect(plain).toMatchObject({ kind: 'timeout', reason: 'no answer to ApiVersions within 200 ms' })
  const tls = await failureOf(connect(silent, { 'security.protocol': 'SSL', 'socket.connection.setup.timeout.ms': '200' }))
  expect(tls).toMatchObject({ kind: 'timeout', reason: 'no TLS handshake within 200 ms' })
})

test('nobody there, no such host', async () => {
  const gone = await serve(() => {})
  await gone.close()
  expect(await failureOf(connect(gone.port))).toMatchObject({ kind: 'refused', message: `127.0.0.1:${gone.port}: connection refused` })
  const unknown = await failureOf(openConnection({ host: 'no-such-host.invalid', port: 9092 }, configOf()))
  expect(unknown).toMatchObject({ kind: 'resolve', message: 'no-such-host.invalid:9092: the host name does not resolve' })
})

test('a broker that goes away rejects what was under way, once, as uncertain', async () => {
  const fake = await broker((request) => {
    if (fake.requests.length === 3) request.socket.resetAndDestroy()
  })
  const connection = await connect(fake.port)
  let closed = 0
  connection.onClose(() => closed++)
  const failures = await Promise.all([1, 2, 3].map(() => failureOf(ask(connection))))
  expect(failures.map((error) => [error.kind, error.uncertain])).toEqual([1, 2, 3].map(() => ['closed', true]))
  expect(await failureOf(ask(connection))).toMatchObject({ kind: 'closed', uncertain: false })
  expect([connection.open, closed]).toEqual([false, 1])
})

test('close rejects what was under way and frees the socket at once', async () => {
  const fake = await broker(() => {})
  const connection = await connect(fake.port)
  const answer = failureOf(ask(connection))
  const ended = once(fake.sockets[0]!, 'close')
  await connection.close()
  expect(await answer).toMatchObject({ kind: 'closed', reason: 'the connection was closed' })
  await ended
})

test('a retired connection answers what is under way, then closes', async () => {
  const held: FakeRequest[] = []
  const fake = await broker((request) => held.push(request))
  const connection = await connect(fake.port)
  const answer = ask(connection)
  connection.retire()
  expect(connection.open).toBe(false)
  const ended = once(fake.sockets[0]!, 'close')
  await expect.poll(() => held.length).toBe(1)
  held[0]!.reply(metadataBody('last'))
  expect((await answer).clusterId).toBe('last')
  await ended
})

test('a plain client on a listener that wants SASL is told so', async () => {
  const fake = await broker((request) => request.socket.end())
  const connection = await connect(fake.port)
  const error = await failureOf(ask(connection))
  expect(error.advice).toContain('SASL_PLAINTEXT')
})

test('an advertised address that nobody can reach is named, with who advertised it', async () => {
  const fake = await broker((request) => {
    const response = {
      throttleTimeMs: 0,
      brokers: [{ nodeId: 7, host: 'inside.invalid', port: 9092, rack: null }],
      clusterId: 'x',
      controllerId: 7,
      topics: [],
    }
    request.reply(Buffer.concat([Buffer.of(0), ...encodeResponse(Metadata, 12, response)]))
  })
  const cluster = new Cluster(configOf({ 'bootstrap.servers': `127.0.0.1:${fake.port}`, 'retry.backoff.max.ms': '10' }))
  closing.push(() => cluster.close())
  const error = await failureOf(cluster.broker(7, Metadata, { topics: [] }))
  expect(error.message).toBe(`inside.invalid:9092, which broker 7 of 127.0.0.1:${fake.port} advertises: the host name does not resolve`)
})

test('all bootstrap addresses are tried, and named when none answers', async () => {
  const gone = await Promise.all([serve(() => {}), serve(() => {})])
  for (const one of gone) await one.close()
  const fake = await broker((request) => request.reply(metadataBody('found')))
  const dead = gone.map((one) => `127.0.0.1:${one.port}`)
  const found = new Cluster(configOf({ 'bootstrap.servers': [...dead, `127.0.0.1:${fake.port}`].join() }))
  const lost = new Cluster(configOf({ 'bootstrap.servers': dead.join() }))
  closing.push(
    () => found.close(),
    () => lost.close(),
  )
  expect(await found.clusterId()).toBe('found')
  const error = await failureOf(lost.clusterId())
  expect(error.message).toBe(`${dead[0]}: connection refused (also ${dead[1]}: connection refused)`)
})

test('many callers during an outage share few attempts', async () => {
  let connections = 0
  const port = await server((socket) => {
    connections++
    socket.destroy()
  })
  const cluster = new Cluster(configOf({ 'bootstrap.servers': `127.0.0.1:${port}` }))
  closing.push(() => cluster.close())
  const warnings: Error[] = []
  const warned = (warning: Error) => warnings.push(warning)
  process.on('warning', warned)
  closing.push(async () => process.off('warning', warned))
  const failures = await Promise.all(Array.from({ length: 300 }, () => failureOf(cluster.clusterId())))
  expect(warnings).toEqual([])
  expect(new Set(failures.map((error) => error.kind))).toEqual(new Set(['protocol']))
  expect(connections).toBeLessThan(5)
})

test.each(['SSL', 'PLAINTEXT'])('closing a client ends its attempts to connect at once: %s', async (protocol) => {
  const accepted: Socket[] = []
  const silent = await server((socket) => accepted.push(socket))
  const cluster = new Cluster(configOf({ 'bootstrap.servers': `127.0.0.1:${silent}`, 'security.protocol': protocol }))
  const asked = failureOf(cluster.clusterId())
  await expect.poll(() => accepted.length).toBe(1)
  const started = performance.now()
  await cluster.close()
  expect(await asked).toMatchObject({ kind: 'closed' })
  expect(performance.now() - started).toBeLessThan(5_000)
})

test('an idle connection costs nothing', async () => {
  const fake = await broker((request) => request.reply(metadataBody('x')))
  const connections = await Promise.all(Array.from({ length: 20 }, () => connect(fake.port)))
  await Promise.all(connections.map((connection) => ask(connection)))
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await Promise.all(connections.map((connection) => connection.close()))
  // Whatever timers there are belong to the test's runner, none to a connection.
  expect(timers()).toBe(before)
})

test('a stalled broker is given up and asked again on a new connection', async () => {
  const fake = await broker((request) => {
    if (fake.sockets.length > 1) request.reply(metadataBody('awake'))
  })
  const cluster = new Cluster(configOf({ 'bootstrap.servers': `127.0.0.1:${fake.port}`, 'request.timeout.ms': '100' }))
  closing.push(() => cluster.close())
  expect(await cluster.clusterId()).toBe('awake')
  expect(fake.sockets.length).toBe(2)
})
