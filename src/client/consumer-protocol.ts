import { Reader } from '../protocol/reader.js'
import { Writer } from '../protocol/writer.js'

/**
 * What members of a classic group tell each other, in the layout Kafka's tools read (`ConsumerProtocolSubscription` and
 * `ConsumerProtocolAssignment`, version 1), so that `kafka-consumer-groups.sh --describe` shows who owns what.
 */
const VERSION = 1

type TopicPartitions = ReadonlyArray<{ readonly topic: string; readonly partitions: readonly number[] }>

export function encodeSubscription(topics: readonly string[], owned: TopicPartitions): Buffer {
  const writer = new Writer()
  writer.int16(VERSION)
  writer.int32(topics.length)
  for (const topic of topics) writeString(writer, topic)
  writer.int32(-1)
  writeTopicPartitions(writer, owned)
  return Buffer.concat(writer.finish())
}

/** The partitions a member says it owns; none for the older version 0. */
export function decodeOwned(subscription: Buffer): TopicPartitions {
  const reader = new Reader(subscription)
  const version = reader.int16()
  for (let left = reader.int32(); left > 0; left--) readString(reader)
  const userData = reader.int32()
  if (userData > 0) reader.view(userData)
  return version >= 1 ? readTopicPartitions(reader) : []
}

export function encodeAssignment(assigned: TopicPartitions): Buffer {
  const writer = new Writer()
  writer.int16(VERSION)
  writeTopicPartitions(writer, assigned)
  writer.int32(-1)
  return Buffer.concat(writer.finish())
}

/** An empty answer is a member without partitions. */
export function decodeAssignment(assignment: Buffer): TopicPartitions {
  if (assignment.length === 0) return []
  const reader = new Reader(assignment)
  reader.int16()
  return readTopicPartitions(reader)
}

function writeString(writer: Writer, text: string): void {
  const bytes = Buffer.from(text)
  writer.int16(bytes.length)
  writer.bytes(bytes)
}

const readString = (reader: Reader) => reader.utf8(reader.int16())

function writeTopicPartitions(writer: Writer, list: TopicPartitions): void {
  writer.int32(list.length)
  for (const { topic, partitions } of list) {
    writeString(writer, topic)
    writer.int32(partitions.length)
    for (const partition of partitions) writer.int32(partition)
  }
}

function readTopicPartitions(reader: Reader): TopicPartitions {
  return Array.from({ length: Math.max(0, reader.int32()) }, () => ({
    topic: readString(reader),
    partitions: Array.from({ length: Math.max(0, reader.int32()) }, () => reader.int32()),
  }))
}
