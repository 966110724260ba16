import { Errors } from '../protocol/errors.js'

/**
 * What a partition's answer to Produce means. Only `landed` moves the position; everything else ends the copy session,
 * and alignment reads the truth from the logs.
 */
export type AppendAnswer =
  /** Appended; the base offset still has to be the expected one. */
  | 'landed'
  /** Whether it landed is unknown or the order was broken: read the log end, drop what landed, go on. */
  | 'realign'
  /** Metadata is stale. */
  | 'moved'
  /** Another owner or a failover has fenced this producer: stop without touching the partition again. */
  | 'fenced'
  /** More bytes than the topic takes: split, if its limit has been lowered. */
  | 'too-large'
  /** The destination refuses this batch for what it holds: FAILED with the broker's words. */
  | 'refused'
  /** Passing or operator-mendable: retried with back-off. */
  | 'retry'

const ANSWERS: ReadonlyMap<number, AppendAnswer> = new Map<number, AppendAnswer>([
  [Errors.NONE, 'landed'],
  [Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, 'realign'],
  [Errors.DUPLICATE_SEQUENCE_NUMBER, 'realign'],
  [Errors.UNKNOWN_PRODUCER_ID, 'realign'],
  [Errors.REQUEST_TIMED_OUT, 'realign'],
  [Errors.NOT_ENOUGH_REPLICAS, 'realign'],
  [Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 'realign'],
  [Errors.UNKNOWN_TOPIC_ID, 'moved'], // recreated
  [Errors.INCONSISTENT_TOPIC_ID, 'moved'],
  [Errors.UNKNOWN_TOPIC_OR_PARTITION, 'moved'],
  [Errors.LEADER_NOT_AVAILABLE, 'moved'],
  [Errors.NOT_LEADER_OR_FOLLOWER, 'moved'],
  [Errors.FENCED_LEADER_EPOCH, 'moved'],
  [Errors.UNKNOWN_LEADER_EPOCH, 'moved'],
  [Errors.KAFKA_STORAGE_ERROR, 'moved'],
  [Errors.INVALID_PRODUCER_EPOCH, 'fenced'],
  [Errors.PRODUCER_FENCED, 'fenced'],
  [Errors.CORRUPT_MESSAGE, 'refused'],
  [Errors.MESSAGE_TOO_LARGE, 'too-large'],
  [Errors.RECORD_LIST_TOO_LARGE, 'too-large'],
  [Errors.INVALID_TIMESTAMP, 'refused'],
  [Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, 'refused'],
  [Errors.UNSUPPORTED_COMPRESSION_TYPE, 'refused'],
  [Errors.INVALID_RECORD, 'refused'],
])

/** The meaning of a Produce error code; codes not in the table are retried with back-off. */
export const appendAnswer = (errorCode: number): AppendAnswer => ANSWERS.get(errorCode) ?? 'retry'
