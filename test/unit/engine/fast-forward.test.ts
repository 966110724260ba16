import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Connection } from '../../../src/client/connection.js'
import { LostPlace, PartitionFailure } from '../../../src/engine/errors.js'
import { type FastForwardPort, fastForward } from '../../../src/engine/fast-forward.js'
import { ModelDestination } from './model-destination.js'

interface Options {
  destination?: ModelDestination
  maxMessageBytes?: number
  /** What becomes of the n-th append. */
  fault?: (n: number) => 'none' | 'refused' | 'lost' | 'lost answer'
  mayAppend?: (appends: number) => boolean
}

function setUp({
  destination = new ModelDestination(),
  maxMessageBytes = 300,
  fault = () => 'none',
  mayAppend = () => true,
}: Options = {}) {
  const deleted: bigint[] = []
  let appends = 0
  let inFlight = 0
  const seen = { mostInFlight: 0, firstAlone: true }
  const connection = {
    send: async (_api: unknown, request: { topicData: Array<{ partitionData: Array<{ records: Buffer[] }> }> }) => {
      const n = appends++
      seen.mostInFlight = Math.max(seen.mostInFlight, ++inFlight)
      if (n === 1 && inFlight > 1) seen.firstAlone = false
      // Requests of a connection are worked on one after the other.
      const bytes = Buffer.concat(request.topicData[0]!.partitionData[0]!.records)
      const what = fault(n)
      const answer = what === 'none' || what === 'lost answer' ? destination.append(bytes) : { errorCode: 19, baseOffset: -1n }
      await new Promise((resolve) => setImmediate(resolve))
      inFlight--
      if (what === 'lost' || what === 'lost answer') throw new Error('connection lost')
      return { responses: [{ partitionResponses: [{ ...answer, errorMessage: null }] }] }
    },
  } as unknown as Connection
  const port = (): FastForwardPort => ({
    connection,
    topic: 'orders',
    topicId: 'd',
    partition: 0,
    producerId: 71n,
    producerEpoch: 0,
    nextSequence: destination.producer?.nextSequence ?? 0,
    producerKnown: destination.producer !== undefined,
    maxMessageBytes,
    timestamp: 1_700_000_000_000n,
    mayAppend: () => mayAppend(appends),
    deleteRecords: async (before) => void deleted.push(before),
    progress: () => {},
  })
  return { port, destination, deleted, seen }
}

describe('fast-forward', () => {
  it('moves the log end to the target exactly, several batches ahead, and the log start after it', async () => {
    const { port, destination, deleted, seen } = setUp()
    await fastForward(port(), 0n, 1_234n)
    expect([destination.logEndOffset, deleted, seen.mostInFlight]).toEqual([1_234n, [1_234n], 4])
  })

  it('sends its first batch alone where the broker knows no sequence of the producer', async () => {
    const { port, destination, seen } = setUp({ fault: (n) => (n === 0 ? 'refused' : 'none') })
    await expect(fastForward(port(), 0n, 1_000n)).rejects.toThrow(/fast-forward at offset 0/)
    expect([destination.logEndOffset, seen.firstAlone]).toEqual([0n, true])
  })

  it('gets to the target after any interruption, begun again at the log end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('none', 'refused', 'lost', 'lost answer'), { maxLength: 12 }),
        fc.integer({ min: 1, max: 900 }),
        async (faults, target) => {
          const rest = [...(faults as Array<'none' | 'refused' | 'lost' | 'lost answer'>)]
          const { port, destination } = setUp({ fault: () => rest.shift() ?? 'none' })
          for (let attempts = 0; destination.logEndOffset < BigInt(target); attempts++) {
            expect(attempts).toBeLessThan(20)
            await fastForward(port(), destination.logEndOffset, BigInt(target)).catch(() => {})
          }
          expect(destination.logEndOffset).toBe(BigInt(target))
        },
      ),
    )
  })

  it('fails when something else writes meanwhile', async () => {
    const destination = new ModelDestination()
    const { port } = setUp({ destination })
    destination.foreign()
    await expect(fastForward(port(), 0n, 1_000n)).rejects.toThrow(PartitionFailure)
  })

  it('stops when the right to append is lost', async () => {
    const { port, destination } = setUp({ mayAppend: (appends) => appends < 2 })
    await expect(fastForward(port(), 0n, 10_000n)).rejects.toThrow(LostPlace)
    expect(destination.logEndOffset).toBeLessThan(10_000n)
  })
})
