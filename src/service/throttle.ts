import { alterClientQuotas } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { failure, usageError } from '../mirror/errors.js'
import { about, DESTINATION, sourceOf } from '../mirror/failures.js'
import { isActive, type MirrorState } from '../mirror/fold.js'
import { checkName } from '../mirror/names.js'
import { erase, mustExist, put } from '../mirror/spec-store.js'
import { formatReplicas, parseRate, parseReplicas, type ThrottledReplica } from '../mirror/throttles.js'
import { DescribeClientQuotas } from '../protocol/api/describe-client-quotas.js'
import { kafkaError } from '../protocol/errors.js'
import type { ServiceContext } from './context.js'
import { withSource } from './source-connection.js'
import type {
  DescribeThrottlesOptions,
  DescribeThrottlesResult,
  ThrottleDescription,
  ThrottleOptions,
  ThrottleTarget,
  ThrottleValue,
} from './types.js'

/** Kafka's quota for what a client fetches, bytes per second. */
const QUOTA = 'consumer_byte_rate'
const ANY = 2

type Parsed = { readonly rate: number } | { readonly replicas: readonly ThrottledReplica[] | '*' } | null

/** See {@link MirrorAdmin.setThrottle}. */
export async function setThrottle(
  context: ServiceContext,
  target: ThrottleTarget,
  value: ThrottleValue,
  options: ThrottleOptions,
): Promise<void> {
  const parsed = parse(target, value)
  switch (target.kind) {
    case 'broker':
    case 'topic':
      return setOwn(context, target, parsed, options)
    case 'client':
      if (options.dryRun) return
      return about(DESTINATION, `the quota of client ${target.client} was not changed`, () =>
        setQuota(context.destination, target.client, parsed),
      )
    case 'source': {
      const { configs } = mustExist(await context.store.read(), target.mirror)
      const doing = `the quota of client ${target.client} on ${sourceOf(target.mirror).name} was not changed`
      return about(sourceOf(target.mirror), doing, () =>
        withSource({ mirror: target.mirror, configs }, (source) =>
          options.dryRun ? Promise.resolve() : setQuota(source, target.client, parsed),
        ),
      )
    }
  }
}

/** See {@link MirrorAdmin.describeThrottles}. */
export async function describeThrottles(context: ServiceContext, options: DescribeThrottlesOptions): Promise<DescribeThrottlesResult> {
  const { target } = options
  const state = await context.store.read()
  const mirror = options.mirror ?? (target?.kind === 'source' ? target.mirror : undefined)
  const own = target?.kind === 'source' || target?.kind === 'client' ? [] : ownThrottles(state)
  const source = mirror === undefined ? [] : await sourceThrottles(state, mirror)
  const clients = options.clients || target?.kind === 'client' ? await about(DESTINATION, undefined, () => quotas(context.destination)) : []
  const all = [...own, ...source, ...clients.map(([client, rate]) => row({ kind: 'client', client }, { rate }))]
  return { throttles: target === undefined ? all : all.filter((throttle) => same(throttle.target, target)), warnings: [] }
}

function parse(target: ThrottleTarget, value: ThrottleValue): Parsed {
  if (target.kind === 'topic') checkName('topic', target.topic)
  if (target.kind === 'broker' && (!Number.isInteger(target.broker) || target.broker < 0)) {
    throw usageError('INVALID_THROTTLE', `'${target.broker}' is not a broker id`)
  }
  if (value === null) return null
  if (target.kind !== 'topic') {
    if ('rate' in value) return { rate: parseRate(value.rate) }
    throw usageError('INVALID_THROTTLE', `a ${target.kind} is throttled by a rate, not by replicas`)
  }
  if (!('replicas' in value))
    throw usageError('INVALID_THROTTLE', 'a topic is throttled by its replicas, not by a rate', 'Set the rate on a broker.')
  return { replicas: typeof value.replicas === 'string' ? parseReplicas(value.replicas) : parseReplicas(formatReplicas(value.replicas)) }
}

/** Broker and topic throttles live in our own state: a stock broker would not give the rate out again. */
async function setOwn(
  { store, destination }: ServiceContext,
  target: ThrottleTarget & { kind: 'broker' | 'topic' },
  value: Parsed,
  options: ThrottleOptions,
): Promise<void> {
  const exists = await store.exists()
  if (target.kind === 'topic' && value !== null) await topicMustExist(destination, await store.read(), target.topic)
  if (options.dryRun || (!exists && value === null)) return
  await store.ensure()
  await store.update(() => ({ records: [recordOf(target, value)], result: undefined }))
}

function recordOf(target: ThrottleTarget & { kind: 'broker' | 'topic' }, value: Parsed) {
  if (target.kind === 'broker') {
    const key = { kind: 'throttle/broker', broker: target.broker } as const
    return value !== null && 'rate' in value ? put(key, { rate: value.rate }) : erase(key)
  }
  const key = { kind: 'throttle/topic', topic: target.topic } as const
  return value !== null && 'replicas' in value ? put(key, { replicas: value.replicas }) : erase(key)
}

async function topicMustExist(destination: Cluster, state: MirrorState, topic: string): Promise<void> {
  if (state.mirrors().some((mirror) => isActive(mirror.topics.get(topic)))) return
  const found = await about(DESTINATION, undefined, () => destination.topics([topic]))
  if (found.get(topic)?.errorCode === 0) return
  throw failure('UNKNOWN_TOPIC', `there is no topic ${topic} on the destination`)
}

async function setQuota(cluster: Cluster, client: string, value: Parsed): Promise<void> {
  const rate = value !== null && 'rate' in value ? value.rate : undefined
  await alterClientQuotas(cluster, new Map([['client-id', client]]), new Map([[QUOTA, rate]]))
}

function ownThrottles(state: MirrorState): ThrottleDescription[] {
  const brokers = [...state.brokerThrottles].sort(([a], [b]) => a - b)
  const topics = [...state.topicThrottles].sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    ...brokers.map(([broker, rate]) => row({ kind: 'broker', broker }, { rate })),
    ...topics.map(([topic, replicas]) => row({ kind: 'topic', topic }, { replicas })),
  ]
}

async function sourceThrottles(state: MirrorState, mirror: string): Promise<ThrottleDescription[]> {
  const { configs } = mustExist(state, mirror)
  const found = await withSource({ mirror, configs }, quotas)
  return found.map(([client, rate]) => row({ kind: 'source', mirror, client }, { rate }))
}

/** Every client id with a fetch quota of its own. */
async function quotas(cluster: Cluster): Promise<[client: string, rate: number][]> {
  const answer = await cluster.any(DescribeClientQuotas, {
    components: [{ entityType: 'client-id', matchType: ANY, match: null }],
    strict: true,
  })
  if (answer.errorCode !== 0) throw kafkaError(answer.errorCode, answer.errorMessage)
  return (answer.entries ?? []).flatMap(({ entity, values }) => {
    const client = entity.find(({ entityType }) => entityType === 'client-id')?.entityName
    const rate = values.find(({ key }) => key === QUOTA)?.value
    return client === undefined || client === null || rate === undefined ? [] : [[client, rate] as [string, number]]
  })
}

function row(target: ThrottleTarget, value: { rate?: number; replicas?: readonly ThrottledReplica[] | '*' }): ThrottleDescription {
  return { target, rate: value.rate, replicas: value.replicas }
}

const same = (a: ThrottleTarget, b: ThrottleTarget): boolean => identity(a) === identity(b)
const identity = (target: ThrottleTarget): string => JSON.stringify(Object.entries(target).sort(([a], [b]) => (a < b ? -1 : 1)))
