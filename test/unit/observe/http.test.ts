import { afterEach, describe, expect, it } from 'vitest'
import type { RunnerSnapshot } from '../../../src/engine/events.js'
import { formatListenAddress, type ObserverServer, parseListenAddress, serveHttp } from '../../../src/observe/index.js'
import { partition, runner } from './snapshots.js'

const open: ObserverServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function serve(snapshot: () => RunnerSnapshot) {
  const server = await serveHttp({ host: '127.0.0.1', port: 0 }, { snapshot })
  open.push(server)
  return async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://${server.address}${path}`, init)
    return { status: response.status, body: await response.text(), type: response.headers.get('content-type') }
  }
}

describe('the HTTP endpoints', () => {
  it('are live at once and ready when every position is known', async () => {
    let now = runner([], { alive: false })
    const get = await serve(() => now)
    expect(await get('/livez')).toMatchObject({ status: 200, body: 'ok\n' })
    expect(await get('/readyz')).toMatchObject({ status: 503, body: 'not ready: not a member of the group\n' })
    now = runner([partition(), partition({ partition: 1, state: 'LOG_ALIGNMENT', logEndOffset: undefined })])
    expect(await get('/readyz')).toMatchObject({ status: 503, body: 'not ready: positions are not known yet of m/orders-1\n' })
    now = runner([partition(), partition({ partition: 1, state: 'FAILED', logEndOffset: undefined })])
    expect(await get('/readyz?verbose')).toMatchObject({ status: 200, body: 'ready: member of the group, 2 partitions\n' })
  })

  it('serve metrics as Prometheus wants them', async () => {
    const get = await serve(() => runner([partition()]))
    const { status, body, type } = await get('/metrics')
    expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(body).toContain('# TYPE kafka_mirrors_lag_records gauge')
  })

  it('answer other paths and methods, and a failing snapshot, without falling over', async () => {
    let fails = false
    const get = await serve(() => {
      if (fails) throw new Error('broken')
      return runner([])
    })
    expect(await get('/')).toMatchObject({ status: 404, body: 'not found; there are /livez, /readyz, /metrics\n' })
    expect((await get('/metrics', { method: 'POST' })).status).toBe(405)
    expect(await get('/livez', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
    fails = true
    expect(await get('/metrics')).toMatchObject({ status: 500, body: 'broken\n' })
  })

  it('say in one sentence that a port is in use', async () => {
    await serve(() => runner([]))
    const address = parseListenAddress(open[0]!.address)
    await expect(serveHttp(address, { snapshot: () => runner([]) })).rejects.toMatchObject({
      message: `can't listen on ${open[0]!.address}: the port is in use`,
      advice: expect.stringContaining('--http'),
    })
  })
})

describe('addresses to listen on', () => {
  it.each([
    ['127.0.0.1:9640', '127.0.0.1', 9640],
    ['[::1]:9640', '::1', 9640],
    ['localhost:0', 'localhost', 0],
    [':9640', undefined, 9640],
  ])('%s', (text, host, port) => {
    expect(parseListenAddress(text)).toEqual({ host, port })
    expect(formatListenAddress({ host, port })).toBe(text)
  })

  it.each(['9640', '::1:9640', '127.0.0.1', 'a b:1', '127.0.0.1:65536', '127.0.0.1:', '[x]:1', 'http://a:1', ''])(
    'refuses "%s"',
    (text) => {
      expect(() => parseListenAddress(text)).toThrow(/is not an address to listen on/)
    },
  )
})
