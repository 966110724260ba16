import { DescribeConfigs, Errors, IncrementalAlterConfigs, kafkaError } from '../protocol/index.js'
import type { Cluster } from './cluster.js'
import { failed, type Result, resultOf } from './result.js'

/** Kafka: ConfigResource.Type. */
const TYPES = { topic: 2, broker: 4, 'broker-logger': 8, 'client-metrics': 16, group: 32 } as const

export interface ConfigResource {
  readonly type: keyof typeof TYPES
  /** Topic or group name, broker id as text; the empty text is the default of all brokers. */
  readonly name: string
}

/** Where a value comes from (Kafka: DescribeConfigsResponse.ConfigSource). */
export type ConfigSource = 'topic' | 'broker' | 'broker-default' | 'static' | 'default' | 'other'

const SOURCES: readonly ConfigSource[] = ['other', 'topic', 'broker', 'broker-default', 'static', 'default']

export interface ConfigEntry {
  readonly name: string
  /** Undefined when sensitive or unset. */
  readonly value: string | undefined
  /** `topic` and `broker` are overrides of the resource itself. */
  readonly source: ConfigSource
  readonly readOnly: boolean
  readonly sensitive: boolean
}

export interface ConfigChange {
  readonly resource: ConfigResource
  readonly set?: ReadonlyMap<string, string>
  /** Back to the default. */
  readonly unset?: readonly string[]
}

const SET = 0
const UNSET = 1

/**
 * All settings of each resource, in the order of the resources.
 *
 * @throws ConnectionError
 */
export async function describeConfigs(cluster: Cluster, resources: readonly ConfigResource[]): Promise<Array<Result<ConfigEntry[]>>> {
  return perBroker(
    cluster,
    resources,
    (resource) => resource,
    async (send, group) => {
      const request = {
        resources: group.map(({ type, name }) => ({ resourceType: TYPES[type], resourceName: name, configurationKeys: null })),
      }
      const response = await send(DescribeConfigs, request)
      return response.results.map((result) => [
        keyOf(result.resourceType, result.resourceName),
        resultOf(
          result.errorCode,
          result.errorMessage,
          result.configs.map((config) => ({
            name: config.name,
            value: config.value ?? undefined,
            source: SOURCES[config.configSource] ?? 'other',
            readOnly: config.readOnly,
            sensitive: config.isSensitive,
          })),
        ),
      ])
    },
  )
}

/**
 * Changes only what is named (KIP-339), an outcome for each change in their order.
 *
 * @throws ConnectionError
 */
export async function incrementalAlterConfigs(
  cluster: Cluster,
  changes: readonly ConfigChange[],
  { validateOnly = false }: { readonly validateOnly?: boolean } = {},
): Promise<Array<Result<void>>> {
  return perBroker(
    cluster,
    changes,
    (change) => change.resource,
    async (send, group) => {
      const response = await send(IncrementalAlterConfigs, {
        resources: group.map(({ resource, set = new Map<string, string>(), unset = [] }) => ({
          resourceType: TYPES[resource.type],
          resourceName: resource.name,
          configs: [
            ...[...set].map(([name, value]) => ({ name, value, configOperation: SET })),
            ...unset.map((name) => ({ name, value: null, configOperation: UNSET })),
          ],
        })),
        validateOnly,
      })
      return response.responses.map((result) => [
        keyOf(result.resourceType, result.resourceName),
        resultOf(result.errorCode, result.errorMessage, undefined),
      ])
    },
  )
}

/** The change that gives a topic these settings and leaves all others alone; null removes an override. */
export const topicChange = (topic: string, settings: ReadonlyMap<string, string | null>): ConfigChange => ({
  resource: { type: 'topic', name: topic },
  set: new Map([...settings].flatMap(([key, value]) => (value === null ? [] : [[key, value] as const]))),
  unset: [...settings].flatMap(([key, value]) => (value === null ? [key] : [])),
})

type Send = Cluster['any']
type Answers<T> = ReadonlyArray<readonly [key: string, Result<T>]>

/** A broker's own settings are known to that broker only; everything else any broker can tell. */
async function perBroker<I, T>(
  cluster: Cluster,
  items: readonly I[],
  resourceOf: (item: I) => ConfigResource,
  ask: (send: Send, group: readonly I[]) => Promise<Answers<T>>,
): Promise<Array<Result<T>>> {
  const groups = new Map<string, I[]>()
  for (const item of items) {
    const { type, name } = resourceOf(item)
    const broker = type === 'broker' || type === 'broker-logger' ? name : ''
    groups.set(broker, [...(groups.get(broker) ?? []), item])
  }
  const answers = await Promise.all(
    [...groups].map(([broker, group]) => {
      const send: Send =
        broker === '' ? cluster.any.bind(cluster) : (api, request, options) => cluster.broker(Number(broker), api, request, options)
      return ask(send, group)
    }),
  )
  const found = new Map(answers.flat())
  return items.map((item) => {
    const { type, name } = resourceOf(item)
    return found.get(keyOf(TYPES[type], name)) ?? failed(kafkaError(Errors.UNKNOWN_SERVER_ERROR, 'the answer lacks the resource'))
  })
}

const keyOf = (type: number, name: string) => `${type}/${name}`
