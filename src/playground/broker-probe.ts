import { connect } from 'node:net'

// Metadata v4 with no topics, correlation id 1, client id null: bytes, so that the probe leans on none of our own code
// and its readiness can't be mistaken for ours.
const METADATA_REQUEST = Buffer.from('0000000f' + '00030004' + '00000001' + 'ffff' + '00000000' + '00', 'hex')

/**
 * Asks a broker for the cluster's brokers over a PLAINTEXT listener.
 *
 * @returns how many brokers are registered and not fenced, or 0 when nobody answers in time.
 */
export function liveBrokers(host: string, port: number, timeoutMs = 2_000): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    let received = Buffer.alloc(0)
    const done = (count: number) => {
      socket.destroy()
      resolve(count)
    }
    socket.setTimeout(timeoutMs, () => done(0))
    socket.on('connect', () => socket.write(METADATA_REQUEST))
    socket.on('error', () => done(0))
    socket.on('close', () => done(0))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      // size, correlation id, throttle time, then the number of brokers
      if (received.length >= 16) done(received.readInt32BE(12))
    })
  })
}
