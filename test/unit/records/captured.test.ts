import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  type Batch,
  compressionOf,
  controlTypeOf,
  isControl,
  isDense,
  isTransactional,
  scanBatches,
  translate,
  usesLogAppendTime,
} from '../../../src/records/index.js'

/** Record sets as brokers answered a Fetch with them, in base64, by Kafka version and what was written. */
const CAPTURED = JSON.parse(readFileSync(new URL('./fixtures/captured.json', import.meta.url), 'utf8')) as Record<string, string>

const brief = (batch: Batch) => {
  const { header } = batch
  const traits = [
    compressionOf(header),
    isDense(batch) ? 'dense' : '',
    isTransactional(header) ? 'transactional' : '',
    isControl(header) ? controlTypeOf(batch) : '',
    usesLogAppendTime(header) ? 'append time' : '',
  ]
  return `${header.baseOffset}+${header.count} magic ${header.magic} ${traits.filter(Boolean).join(' ')}`
}

const captured = (name: string) => Buffer.from(CAPTURED[name]!, 'base64')
const scan = (name: string) => [...scanBatches(captured(name))]

describe('record sets captured from brokers', () => {
  it.each([
    ['4.4.0 plain', ['0+3 magic 2 none dense']],
    ['4.4.0 lz4', ['0+3 magic 2 lz4 dense']],
    ['4.4.0 appendtime', ['0+3 magic 2 none dense append time']],
    ['2.8.2 old0', ['0+1 magic 0 none dense', '1+1 magic 0 none dense', '2+1 magic 0 none dense']],
    ['2.8.2 old1', ['0+1 magic 1 none dense', '1+1 magic 1 none dense', '2+1 magic 1 none dense']],
    // A compressed wrapper has the offset of its last message.
    ['2.8.2 old1lz4', ['2+1 magic 1 lz4 dense']],
  ])('%s', (name, batches) => {
    expect(scan(name).map(brief)).toEqual(batches)
  })

  it('4.4.0 transactions: four committed, then one without data aborted', () => {
    const batches = scan('4.4.0 txn').map(brief)
    const data = batches.filter((b) => b.endsWith('+2 magic 2 none dense transactional'))
    const markers = batches.filter((b) => b.endsWith('transactional commit') || b.endsWith('transactional abort'))
    expect([data.length, markers.length, batches.length]).toEqual([4, 5, 9])
    expect(batches.at(-1)).toBe('12+1 magic 2 none dense transactional abort')
  })

  it('translate without a gap', () => {
    const steps = translate(captured('4.4.0 txn'), { nextOffset: 0n, abortedTransactions: [], maxMessageBytes: 1_000_000 })
    expect(steps.reduce((next, step) => (step.kind !== 'refuse' && step.baseOffset === next ? next + BigInt(step.count) : -1n), 0n)).toBe(
      13n,
    )
  })
})
