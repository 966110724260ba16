import { describe, expect, it } from 'vitest'
import { Errors, errorOf, KafkaError, kafkaError } from '../../../src/protocol/index.js'

describe('error codes', () => {
  it('are Kafka 4.4.0’s, without gap or repetition', () => {
    const codes = Object.values(Errors).sort((a, b) => a - b)
    expect(codes).toEqual(Array.from({ length: codes.length }, (_, i) => i - 1))
    expect(codes.at(-1)).toBe(136)
  })

  it.each([
    [-1, 'UNKNOWN_SERVER_ERROR', false],
    [0, 'NONE', false],
    [6, 'NOT_LEADER_OR_FOLLOWER', true],
    [45, 'OUT_OF_ORDER_SEQUENCE_NUMBER', false],
    [51, 'CONCURRENT_TRANSACTIONS', true],
    [74, 'FENCED_LEADER_EPOCH', true],
    [100, 'UNKNOWN_TOPIC_ID', true],
  ] as const)('%i is %s', (code, name, retriable) => {
    expect(errorOf(code)).toMatchObject({ code, name, retriable })
    expect(Errors[name]).toBe(code)
  })

  it('that are too new for the table are named by their number and not retried', () => {
    expect(errorOf(9999)).toMatchObject({ name: 'UNKNOWN_ERROR_CODE', retriable: false, message: expect.stringContaining('9999') })
  })
})

describe('kafkaError', () => {
  it('prefers what the broker said', () => {
    const error = kafkaError(Errors.POLICY_VIOLATION, 'no such policy')
    expect(error).toBeInstanceOf(KafkaError)
    expect(error).toMatchObject({ code: 44, kafkaName: 'POLICY_VIOLATION', retriable: false })
    expect(error.message).toBe('POLICY_VIOLATION: no such policy')
  })

  it.each([null, undefined, ''])('falls back to what the code means for %j', (text) => {
    expect(kafkaError(Errors.REQUEST_TIMED_OUT, text).message).toBe('REQUEST_TIMED_OUT: The request timed out.')
  })
})
