import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scanBatches } from '../../../src/records/index.js'
import { decodeRecords } from '../../../src/records/record-codec.js'
import { arbitraryRounds, logStart, sourceEvents } from '../../support/arbitrary-source.js'
import { writeBatch } from '../../support/batch-writer.js'
import { consumedText, logText } from '../../support/log-text.js'
import { ModelBroker } from '../../support/model-broker.js'
import { propertyRuns } from '../../support/random.js'
import { type SourceEvent, SourceLog } from '../../support/source-log.js'
import { type CopyRound, copyTranslated } from '../../support/translated-copy.js'

const PRODUCER = 77n

/** As a destination's leader takes it, from an offset of the log on: `skip` counts from its start. */
async function copy(source: SourceLog, skip: number, maxMessageBytes: number, rounds: readonly CopyRound[]) {
  const length = Number(source.stableEnd - source.start)
  const broker = new ModelBroker({ logStartOffset: source.start + BigInt(length === 0 ? 0 : skip % length), maxMessageBytes })
  const target = {
    logEndOffset: () => broker.logEndOffset,
    append: (bytes: Buffer) => broker.append(bytes),
    mark: (count: number) => {
      for (let i = 0; i < count; i++) broker.mark({ producerId: PRODUCER, producerEpoch: 0, coordinatorEpoch: 3 })
    },
  }
  const stop = await copyTranslated(source, target, { producerId: PRODUCER, maxMessageBytes, rounds })
  return { broker, stop }
}

/** The record at an offset in a batch of its own, without a codec: nothing is smaller for sure. */
function aloneSize(source: SourceLog, offset: bigint): number {
  const [record] = source.entries(offset)
  if (record === undefined) throw new Error(`there is no record at offset ${offset} that could be too large`)
  return writeBatch({ baseOffset: 0n, records: [[0, record]], lastOffsetDelta: 0 }).length
}

describe('a source log of any kind', () => {
  it('is the same log once translated, appended by a broker’s rules and read back, wherever fetches are cut', async () => {
    await fc.assert(
      fc.asyncProperty(logStart, sourceEvents, fc.nat(99), arbitraryRounds, async (start, events, skip, rounds) => {
        const source = new SourceLog(start, events)
        const { broker, stop } = await copy(source, skip, 1_000_000, rounds)
        expect(stop).toBeUndefined()
        const from = broker.logStartOffset
        expect(logText(from, broker.entries)).toEqual(logText(from, source.entries(from)))
      }),
      propertyRuns(300),
    )
  }, 600_000)

  it('is split for a destination that takes smaller batches, up to a record that is too large by itself', async () => {
    await fc.assert(
      fc.asyncProperty(sourceEvents, fc.integer({ min: 150, max: 600 }), arbitraryRounds, async (events, limit, rounds) => {
        const source = new SourceLog(0n, events)
        const { broker, stop } = await copy(source, 0, limit, rounds)
        const expected = source.entries(0n)
        if (stop !== undefined) {
          expect(stop.baseOffset).toBe(broker.logEndOffset)
          expect(aloneSize(source, stop.baseOffset), stop.reason).toBeGreaterThan(limit)
        }
        expect(logText(0n, broker.entries)).toEqual(logText(0n, stop === undefined ? expected : expected.slice(0, broker.entries.length)))
      }),
      propertyRuns(150),
    )
  }, 600_000)

  it('is decoded as it was written', () => {
    fc.assert(
      fc.property(sourceEvents, (events: SourceEvent[]) => {
        for (const { bytes, records } of new SourceLog(0n, events).batches) {
          const [batch] = scanBatches(bytes)
          if (((batch!.header.attributes >> 5) & 1) === 1 && batch!.header.magic === 2) continue
          const decoded = [...decodeRecords(batch!)].flatMap(({ offset, headers, ...record }) => {
            const raw = headers.map(([name, value]) => [Buffer.from(name), value] as const)
            return consumedText(offset, [{ ...record, headers: raw }])
          })
          expect(decoded).toEqual(records.flatMap(([offset, record]) => consumedText(offset, [record])))
        }
      }),
      propertyRuns(150),
    )
  }, 600_000)
})
