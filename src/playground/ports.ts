import { createServer } from 'node:net'

// Below the range from which systems draw ports for outgoing connections (32768 and up on Linux, 49152 elsewhere):
// a stopped broker's port can't be taken by some connection while the broker is down, and a client that tries
// the port of a dead broker can't connect to itself.
const LOWEST = 20_000
const COUNT = 12_000

/**
 * Ports that nobody listens on at the moment, all different. Somebody else may take one before it is used: whoever
 * binds it must be ready to ask again.
 */
export async function freePorts(count: number, random: () => number = Math.random): Promise<number[]> {
  const ports = new Set<number>()
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > 200 + count) throw new Error(`No ${count} free ports between ${LOWEST} and ${LOWEST + COUNT}`)
    const port = LOWEST + Math.floor(random() * COUNT)
    if (!ports.has(port) && (await isFree(port))) ports.add(port)
  }
  return [...ports]
}

/** Whether nobody listens on a port of this machine at the moment. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.on('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
