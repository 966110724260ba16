import {
  arrayOf,
  booleanOf,
  choiceOf,
  int64Of,
  type Json,
  mapValuesOf,
  numberOf,
  objectOf,
  optionally,
  ShapeError,
  stringify,
  textOf,
} from './json.js'
import { PARTITION_STATES, type PartitionState } from './partition-states.js'
import { DESIRED, type FoundLog, type PartitionProducer, type Reseed, type StateKind, type StateValues, type Stopping } from './state.js'

/** Version written into every value. A reader refuses others: it could misread them. */
export const STATE_VERSION = 1

/** A record's value. int64 becomes decimal text. */
export const encodeValue = <K extends StateKind>(_kind: K, value: StateValues[K]): string => stringify({ version: STATE_VERSION, ...value })

/** Throws {@link ShapeError} with a readable reason: not JSON, an unknown version, a field that is wrong. */
export function decodeValue<K extends StateKind>(kind: K, text: string): StateValues[K] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new ShapeError('it is not JSON')
  }
  const json = objectOf(parsed, 'it')
  if (json.version !== STATE_VERSION) {
    throw new ShapeError(`it has version ${JSON.stringify(json.version)}, this program reads version ${STATE_VERSION}`)
  }
  return DECODERS[kind](json)
}

const DECODERS: { readonly [K in StateKind]: (json: Json) => StateValues[K] } = {
  mirror: (json) => ({
    sourceClusterId: optionally(json.sourceClusterId, 'sourceClusterId', textOf),
    createdAt: numberOf(json.createdAt, 'createdAt'),
  }),
  config: (json) => ({ value: textOf(json.value, 'value') }),
  topic: (json) => ({
    desired: choiceOf(json.desired, 'desired', DESIRED),
    stopping: optionally(json.stopping, 'stopping', stoppingOf),
    sourceTopicId: textOf(json.sourceTopicId, 'sourceTopicId'),
    destinationTopicId: textOf(json.destinationTopicId, 'destinationTopicId'),
    partitions: numberOf(json.partitions, 'partitions'),
    producers: arrayOf(json.producers, 'producers', producerOf),
    held: mapValuesOf(json.held, 'held', (item, field) => (item === null ? null : textOf(item, field))),
    taken: optionally(json.taken, 'taken', (item, field) => mapValuesOf(item, field, textOf)),
    origins: optionally(json.origins, 'origins', (item, field) => arrayOf(item, field, textOf)),
    found: optionally(json.found, 'found', (item, field) => arrayOf(item, field, foundLogOf)),
    addedAt: numberOf(json.addedAt, 'addedAt'),
    reseed: optionally(json.reseed, 'reseed', reseedOf),
  }),
  'throttle/broker': (json) => ({ rate: numberOf(json.rate, 'rate') }),
  'throttle/topic': (json) => ({
    replicas:
      json.replicas === '*'
        ? '*'
        : arrayOf(json.replicas, 'replicas', (item, field) => {
            const replica = objectOf(item, field)
            return { partition: numberOf(replica.partition, `${field}.partition`), broker: numberOf(replica.broker, `${field}.broker`) }
          }),
  }),
  status: (json) => ({
    ownerEpoch: numberOf(json.ownerEpoch, 'ownerEpoch'),
    addedAt: numberOf(json.addedAt, 'addedAt'),
    destinationTopicId: textOf(json.destinationTopicId, 'destinationTopicId'),
    owner: textOf(json.owner, 'owner'),
    state: choiceOf(json.state, 'state', Object.keys(PARTITION_STATES) as PartitionState[]),
    since: numberOf(json.since, 'since'),
    sourceLeaderEpochs: arrayOf(json.sourceLeaderEpochs, 'sourceLeaderEpochs', (item, field) => {
      const start = objectOf(item, field)
      return { epoch: numberOf(start.epoch, `${field}.epoch`), startOffset: int64Of(start.startOffset, `${field}.startOffset`) }
    }),
    fastForward: optionally(json.fastForward, 'fastForward', (item, field) => {
      const fastForward = objectOf(item, field)
      return { target: int64Of(fastForward.target, `${field}.target`), done: booleanOf(fastForward.done, `${field}.done`) }
    }),
    fillMode: choiceOf(json.fillMode, 'fillMode', ['markers', 'transactions']),
    error: optionally(json.error, 'error', (item, field) => {
      const error = objectOf(item, field)
      return {
        message: textOf(error.message, `${field}.message`),
        retries: numberOf(error.retries, `${field}.retries`),
        at: numberOf(error.at, `${field}.at`),
      }
    }),
    lostRanges: arrayOf(json.lostRanges, 'lostRanges', (item, field) => {
      const range = objectOf(item, field)
      return { from: int64Of(range.from, `${field}.from`), to: int64Of(range.to, `${field}.to`) }
    }),
    stoppedAt: optionally(json.stoppedAt, 'stoppedAt', int64Of),
    answers: optionally(json.answers, 'answers', numberOf),
    sourceEnd: optionally(json.sourceEnd, 'sourceEnd', (item, field) => {
      const end = objectOf(item, field)
      return { offset: int64Of(end.offset, `${field}.offset`), at: numberOf(end.at, `${field}.at`) }
    }),
    needsFence: optionally(json.needsFence, 'needsFence', booleanOf),
    letGo: optionally(json.letGo, 'letGo', booleanOf),
  }),
  result: (json) => ({
    how: choiceOf(json.how, 'how', ['confirmed', 'fenced', 'unfenced']),
    at: numberOf(json.at, 'at'),
    partitions: arrayOf(json.partitions, 'partitions', (item, field) => {
      const partition = objectOf(item, field)
      return {
        partition: numberOf(partition.partition, `${field}.partition`),
        logEndOffset: int64Of(partition.logEndOffset, `${field}.logEndOffset`),
      }
    }),
  }),
  recovery: (json) => {
    const action = choiceOf(json.action, 'action', ['retry', 'record-gap'])
    const wish = { addedAt: numberOf(json.addedAt, 'addedAt'), at: numberOf(json.at, 'at') }
    return action === 'retry' ? { ...wish, action } : { ...wish, action, from: int64Of(json.from, 'from'), to: int64Of(json.to, 'to') }
  },
  sync: (json) => ({
    ownerEpoch: numberOf(json.ownerEpoch, 'ownerEpoch'),
    owner: textOf(json.owner, 'owner'),
    at: numberOf(json.at, 'at'),
    ok: booleanOf(json.ok, 'ok'),
    lastSuccess: optionally(json.lastSuccess, 'lastSuccess', numberOf),
    error: optionally(json.error, 'error', textOf),
    changes: numberOf(json.changes, 'changes'),
    problems: arrayOf(json.problems, 'problems', (item, field) => {
      const problem = objectOf(item, field)
      return { item: textOf(problem.item, `${field}.item`), message: textOf(problem.message, `${field}.message`) }
    }),
    more: numberOf(json.more, 'more'),
    notes: arrayOf(json.notes, 'notes', textOf),
  }),
  acl: (json) => ({
    what: choiceOf(json.what, 'what', ['created', 'withheld', 'guard']),
    standsFor: optionally(json.standsFor, 'standsFor', textOf),
    pending: optionally(json.pending, 'pending', booleanOf) || undefined,
    at: numberOf(json.at, 'at'),
  }),
}

function producerOf(item: unknown, field: string): PartitionProducer {
  const producer = objectOf(item, field)
  return { id: int64Of(producer.id, `${field}.id`), epoch: numberOf(producer.epoch, `${field}.epoch`) }
}

function stoppingOf(item: unknown, field: string): Stopping {
  const stopping = objectOf(item, field)
  return {
    at: numberOf(stopping.at, `${field}.at`),
    logEnds: optionally(stopping.logEnds, `${field}.logEnds`, (value, name) =>
      arrayOf(value, name, (end, which) => (end === null ? null : int64Of(end, which))),
    ),
  }
}

function foundLogOf(item: unknown, field: string): FoundLog {
  const log = objectOf(item, field)
  return {
    logStartOffset: int64Of(log.logStartOffset, `${field}.logStartOffset`),
    logEndOffset: int64Of(log.logEndOffset, `${field}.logEndOffset`),
  }
}

function reseedOf(item: unknown, field: string): Reseed {
  const reseed = objectOf(item, field)
  return {
    at: numberOf(reseed.at, `${field}.at`),
    tailTopic: optionally(reseed.tailTopic, `${field}.tailTopic`, textOf),
    old: optionally(reseed.old, `${field}.old`, (value, name) => {
      const old = objectOf(value, name)
      return {
        topicId: textOf(old.topicId, `${name}.topicId`),
        replicationFactor: numberOf(old.replicationFactor, `${name}.replicationFactor`),
        settings: mapValuesOf(old.settings, `${name}.settings`, textOf),
        producer: producerOf(old.producer, `${name}.producer`),
        differsFrom: arrayOf(old.differsFrom, `${name}.differsFrom`, int64Of),
      }
    }),
    kept: booleanOf(reseed.kept, `${field}.kept`),
  }
}
