import { describe, expect, test } from 'vitest'
import { LiveView } from '../../../src/playground/live-view.js'
import { runPlayground } from '../../../src/playground/playground.js'
import { encodeBatch, sampleCustomer, sampleOrder } from '../../../src/playground/sample-records.js'
import { readBatchHeader, scanBatches } from '../../../src/records/index.js'

describe('sample records', () => {
  test('make a batch that a broker takes: right count, times and CRC', () => {
    const records = [sampleOrder(1, () => 0.5), sampleCustomer(2, () => 0.5)]
    const bytes = encodeBatch(records, 1_700_000_000_123)
    expect(readBatchHeader(bytes, 0)).toMatchObject({
      baseOffset: 0n,
      count: 2,
      lastOffsetDelta: 1,
      maxTimestamp: 1_700_000_000_123n,
      producerId: -1n,
    })
    // The scan verifies the CRC.
    expect([...scanBatches(bytes)]).toHaveLength(1)
    expect(bytes.includes(records[0]!.value)).toBe(true)
  })
})

describe('the live view', () => {
  const shown = (inPlace: boolean) => {
    const output: string[] = []
    const view = new LiveView((text) => output.push(text), inPlace)
    view.show('a\nb\n')
    view.show('c\n')
    return output
  }

  test('overwrites itself on a terminal', () => {
    expect(shown(true)).toEqual(['\x1b[?7la\nb\n\x1b[?7h', '\x1b[2A\x1b[J\x1b[?7lc\n\x1b[?7h'])
  })

  test('goes on below elsewhere, without control characters', () => {
    expect(shown(false)).toEqual(['a\nb\n', '\nc\n'])
  })
})

describe('without what it needs, the playground says so before it starts anything', () => {
  const world = (env: NodeJS.ProcessEnv) => ({
    print: () => {},
    tell: () => {},
    live: false,
    env,
    signal: new AbortController().signal,
    program: [],
    programName: 'kafka-mirrors',
    createAdmin: () => Promise.reject(new Error('not to be reached')),
    render: () => '',
  })

  test('no Java', async () => {
    await expect(runPlayground({}, world({ PATH: '/nonexistent' }))).rejects.toMatchObject({
      message: 'No Java was found (java).',
      advice: expect.stringContaining('Install a Java runtime, release 11 or newer'),
    })
  })

  test('a version that is none', async () => {
    await expect(runPlayground({ sourceVersion: 'newest' }, world({ ...process.env, KAFKA_HOME: '' }))).rejects.toThrow(
      '"newest" is not a Kafka version.',
    )
  })
})
