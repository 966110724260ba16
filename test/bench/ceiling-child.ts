import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Batch } from '../../src/records/index.js'

/**
 * The append ceiling: the source's batches are read into memory first, then replayed to the destination with our own client and
 * nothing else. `ceiling-child SOURCE DESTINATION TOPIC PARTITIONS`; says `ready`, and starts at the first line on stdin.
 * It runs the compiled code, as the program does: what tsx adds to closures would be measured too.
 */
const dist = (path: string) => new URL(`../../dist/src/${path}`, import.meta.url).href
const { openConnection } = (await import(dist('client/connection.js'))) as typeof import('../../src/client/connection.js')
const { clientConfigOf } = (await import(dist('client/config.js'))) as typeof import('../../src/client/config.js')
const { Fetch, InitProducerId, kafkaError, Metadata, Produce } = (await import(
  dist('protocol/index.js')
)) as typeof import('../../src/protocol/index.js')
const { isControl, nextOffset, nextSequence, patchForAppend, scanBatches } = (await import(
  dist('records/index.js')
)) as typeof import('../../src/records/index.js')

const IN_FLIGHT = 5
const [source, destination, topic, partitionCount] = process.argv.slice(2) as [string, string, string, string]
const partitions = Array.from({ length: Number(partitionCount) }, (_, i) => i)

const connect = (bootstrap: string) => {
  const { config } = clientConfigOf(new Map(), { bootstrapServers: bootstrap })
  return openConnection(config.bootstrapServers[0]!, config)
}

async function topicIdAt(connection: Awaited<ReturnType<typeof connect>>): Promise<string> {
  const { topics } = await connection.send(Metadata, { topics: [{ name: topic }] })
  return topics[0]!.topicId
}

async function prefetch(): Promise<Batch[][]> {
  const connection = await connect(source)
  const topicId = await topicIdAt(connection)
  const result: Batch[][] = []
  for (const partition of partitions) {
    const batches: Batch[] = []
    for (let at = 0n, end = 1n; at < end; ) {
      const request = { partition, fetchOffset: at, partitionMaxBytes: 16 << 20 }
      const { responses } = await connection.send(Fetch, {
        maxWaitMs: 100,
        minBytes: 1,
        isolationLevel: 1,
        topics: [{ topic, topicId, partitions: [request] }],
      })
      const answer = responses[0]!.partitions[0]!
      if (answer.errorCode !== 0) throw kafkaError(answer.errorCode)
      for (const batch of scanBatches(answer.records)) {
        at = nextOffset(batch.header)
        // Control batches can't be appended; what fills them is not part of the ceiling.
        if (!isControl(batch.header)) batches.push(batch)
      }
      end = answer.lastStableOffset
    }
    result.push(batches)
  }
  await connection.close()
  return result
}

async function replay(batches: readonly Batch[][]): Promise<void> {
  const connection = await connect(destination)
  const topicId = await topicIdAt(connection)
  const { producerId, producerEpoch } = await connection.send(InitProducerId, { transactionalId: null, transactionTimeoutMs: 0 })
  const sequences = partitions.map(() => 0)
  const next = partitions.map(() => 0)
  const inFlight: Promise<void>[] = []
  for (;;) {
    const partitionData = partitions.flatMap((index) => {
      const batch = batches[index]![next[index]!++]
      if (batch === undefined) return []
      const { bytes } = batch
      patchForAppend(bytes, { producerId, producerEpoch, baseSequence: sequences[index]! })
      sequences[index] = nextSequence(sequences[index]!, batch.header.count)
      return [{ index, records: [bytes] }]
    })
    if (partitionData.length === 0) break
    const sent = connection.send(Produce, { acks: -1, timeoutMs: 30_000, topicData: [{ name: topic, topicId, partitionData }] })
    inFlight.push(
      sent.then(({ responses }) => {
        for (const p of responses[0]!.partitionResponses) if (p.errorCode !== 0) throw kafkaError(p.errorCode, p.errorMessage)
      }),
    )
    if (inFlight.length >= IN_FLIGHT) await inFlight.shift()
  }
  await Promise.all(inFlight)
}

const batches = await prefetch()
process.stdout.write('ready\n')
const lines = createInterface({ input: process.stdin })
await once(lines, 'line')
await replay(batches)
// Stay until told to go, so that what we used can be read.
await once(lines, 'close')
process.exit(0)
