import { AlterClientQuotas, DescribeClientQuotas, kafkaError } from '../protocol/index.js'
import type { Cluster } from './cluster.js'

/** `user`, `client-id` or `ip` → its name; null is the default entity of that type. */
export type QuotaEntity = ReadonlyMap<string, string | null>

export interface QuotaEntry {
  readonly entity: QuotaEntity
  /** For example `consumer_byte_rate` in bytes per second. */
  readonly quotas: ReadonlyMap<string, number>
}

const EXACT = 0
const DEFAULT = 1

/**
 * The quotas of exactly these entities (KIP-546).
 *
 * @throws KafkaError
 * @throws ConnectionError
 */
export async function describeClientQuotas(cluster: Cluster, entity: QuotaEntity): Promise<QuotaEntry[]> {
  const components = [...entity].map(([entityType, match]) => ({ entityType, match, matchType: match === null ? DEFAULT : EXACT }))
  const response = await cluster.any(DescribeClientQuotas, { components, strict: true })
  if (response.errorCode !== 0) throw kafkaError(response.errorCode, response.errorMessage)
  return (response.entries ?? []).map((entry) => ({
    entity: new Map(entry.entity.map(({ entityType, entityName }) => [entityType, entityName])),
    quotas: new Map(entry.values.map(({ key, value }) => [key, value])),
  }))
}

/**
 * Sets quotas of one entity, or with `undefined` removes them.
 *
 * @throws KafkaError
 * @throws ConnectionError
 */
export async function alterClientQuotas(
  cluster: Cluster,
  entity: QuotaEntity,
  quotas: ReadonlyMap<string, number | undefined>,
): Promise<void> {
  const entry = {
    entity: [...entity].map(([entityType, entityName]) => ({ entityType, entityName })),
    ops: [...quotas].map(([key, value]) => ({ key, value: value ?? 0, remove: value === undefined })),
  }
  const response = await cluster.controller(AlterClientQuotas, { entries: [entry], validateOnly: false })
  for (const { errorCode, errorMessage } of response.entries) if (errorCode !== 0) throw kafkaError(errorCode, errorMessage)
}
