import { connect } from 'node:net'

// Metadata v4 with no topics, correlation id 1, client id null: bytes, so that the probe leans on none of our own code
// and its readiness can't be mistaken for ours.
const METADATA_REQUEST = Buffer.from('0000000f' + '00030004' + '00000001' + 'ffff' + '00000000' + '00', 'hex')

export interface ProbedCluster {
  /** Brokers that are registered and not fenced. */
  readonly brokers: number
  readonly clusterId: string | undefined
}

/** Asks whoever listens on a PLAINTEXT port about its cluster; undefined when nobody answers in time. */
export function probeCluster(host: string, port: number, timeoutMs = 2_000): Promise<ProbedCluster | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    let received = Buffer.alloc(0)
    const done = (answer: ProbedCluster | undefined) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(timeoutMs, () => done(undefined))
    socket.on('connect', () => socket.write(METADATA_REQUEST))
    socket.on('error', () => done(undefined))
    socket.on('close', () => done(undefined))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      if (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) done(readAnswer(received))
    })
  })
}

/**
 * size int32 │ correlation id int32 │ throttle time int32 │ brokers: count int32, each node id int32, host string,
 * port int32, rack nullable string │ cluster id nullable string │ … Strings have their length as int16, −1 is null.
 *
 * @returns undefined for bytes that are no such answer
 */
export function readAnswer(bytes: Buffer): ProbedCluster | undefined {
  try {
    const brokers = bytes.readInt32BE(12)
    let at = 16
    const text = () => {
      const length = Math.max(0, bytes.readInt16BE(at))
      at += 2 + length
      return bytes.toString('utf8', at - length, at)
    }
    for (let broker = 0; broker < brokers; broker++) {
      at += 4
      text()
      at += 4
      text()
    }
    return { brokers, clusterId: text() || undefined }
  } catch {
    return undefined
  }
}
