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
  /** The destination refuses this batch for what it holds: FAILED with the broker's words. */
  | 'refused'
  /** Passing or operator-mendable: retried with back-off. */
  | 'retry'

const ANSWERS: ReadonlyMap<number, AppendAnswer> = new Map([
  [0, 'landed'],
  [45, 'realign'], // OUT_OF_ORDER_SEQUENCE_NUMBER
  [46, 'realign'], // DUPLICATE_SEQUENCE_NUMBER
  [59, 'realign'], // UNKNOWN_PRODUCER_ID
  [7, 'realign'], // REQUEST_TIMED_OUT
  [19, 'realign'], // NOT_ENOUGH_REPLICAS
  [20, 'realign'], // NOT_ENOUGH_REPLICAS_AFTER_APPEND
  [100, 'moved'], // UNKNOWN_TOPIC_ID: recreated
  [103, 'moved'], // INCONSISTENT_TOPIC_ID
  [3, 'moved'], // UNKNOWN_TOPIC_OR_PARTITION
  [5, 'moved'], // LEADER_NOT_AVAILABLE
  [6, 'moved'], // NOT_LEADER_OR_FOLLOWER
  [74, 'moved'], // FENCED_LEADER_EPOCH
  [75, 'moved'], // UNKNOWN_LEADER_EPOCH
  [56, 'moved'], // KAFKA_STORAGE_ERROR
  [47, 'fenced'], // INVALID_PRODUCER_EPOCH
  [90, 'fenced'], // PRODUCER_FENCED
  [2, 'refused'], // CORRUPT_MESSAGE
  [10, 'refused'], // MESSAGE_TOO_LARGE
  [18, 'refused'], // RECORD_LIST_TOO_LARGE
  [32, 'refused'], // INVALID_TIMESTAMP
  [43, 'refused'], // UNSUPPORTED_FOR_MESSAGE_FORMAT
  [76, 'refused'], // UNSUPPORTED_COMPRESSION_TYPE
  [87, 'refused'], // INVALID_RECORD
])

/** The meaning of a Produce error code; codes not in the table are retried with back-off. */
export const appendAnswer = (errorCode: number): AppendAnswer => ANSWERS.get(errorCode) ?? 'retry'
