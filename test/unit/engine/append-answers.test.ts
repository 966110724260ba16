import { describe, expect, it } from 'vitest'
import { type AppendAnswer, appendAnswer } from '../../../src/engine/append-answers.js'
import { STALE_METADATA } from '../../../src/engine/classify.js'
import { ERROR_TABLE } from '../../../src/protocol/error-table.js'
import { Errors, type KafkaErrorName } from '../../../src/protocol/errors.js'

/** What the design says of each answer to Produce, by Kafka's name and number. */
const EXPECTED: Readonly<Record<Exclude<AppendAnswer, 'retry'>, Readonly<Record<string, number>>>> = {
  landed: { NONE: 0 },
  realign: {
    REQUEST_TIMED_OUT: 7,
    NOT_ENOUGH_REPLICAS: 19,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: 20,
    OUT_OF_ORDER_SEQUENCE_NUMBER: 45,
    DUPLICATE_SEQUENCE_NUMBER: 46,
    UNKNOWN_PRODUCER_ID: 59,
  },
  moved: {
    UNKNOWN_TOPIC_OR_PARTITION: 3,
    LEADER_NOT_AVAILABLE: 5,
    NOT_LEADER_OR_FOLLOWER: 6,
    KAFKA_STORAGE_ERROR: 56,
    FENCED_LEADER_EPOCH: 74,
    UNKNOWN_LEADER_EPOCH: 75,
    UNKNOWN_TOPIC_ID: 100,
    INCONSISTENT_TOPIC_ID: 103,
  },
  fenced: { INVALID_PRODUCER_EPOCH: 47, PRODUCER_FENCED: 90 },
  'too-large': { MESSAGE_TOO_LARGE: 10, RECORD_LIST_TOO_LARGE: 18 },
  refused: {
    CORRUPT_MESSAGE: 2,
    INVALID_TIMESTAMP: 32,
    UNSUPPORTED_FOR_MESSAGE_FORMAT: 43,
    UNSUPPORTED_COMPRESSION_TYPE: 76,
    INVALID_RECORD: 87,
  },
}
const LISTED = Object.entries(EXPECTED).flatMap(([meaning, codes]) =>
  Object.entries(codes).map(([name, code]) => [name, code, meaning] as const),
)

describe('answers to Produce', () => {
  it.each(LISTED)('%s (%i) means %s', (name, code, meaning) => {
    expect(Errors[name as KafkaErrorName]).toBe(code)
    expect(appendAnswer(code)).toBe(meaning)
  })

  it('are retried with back-off when nothing else is known of them, unknown codes included', () => {
    const listed = new Set(LISTED.map(([name]) => name))
    for (const [name, { code }] of Object.entries(ERROR_TABLE))
      if (!listed.has(name)) expect([name, appendAnswer(code)]).toEqual([name, 'retry'])
    expect(appendAnswer(9_999)).toBe('retry')
  })

  it('never call an error of Kafka a success', () => {
    for (const { code } of Object.values(ERROR_TABLE)) if (code !== 0) expect(appendAnswer(code)).not.toBe('landed')
  })

  it('ask for fresh metadata wherever every other request does', () => {
    for (const code of Object.values(EXPECTED.moved)) expect(STALE_METADATA).toContain(code)
  })
})
