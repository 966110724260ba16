import { type AclBinding, type DescribeAclsOptions, describeAcls } from '../../client/admin-acls.js'
import type { Cluster } from '../../client/cluster.js'
import { UnsupportedVersionError } from '../../client/errors.js'
import { formatBinding } from '../../mirror/acl-bindings.js'
import { Errors, KafkaError } from '../../protocol/errors.js'

/** What one side keeps of rules: some, none since it has no authorizer, or we may not see them. */
export type AclsSeen =
  | { readonly kind: 'seen'; readonly bindings: readonly AclBinding[] }
  | { readonly kind: 'no-authorizer' }
  | { readonly kind: 'forbidden' }

/** @throws KafkaError @throws ConnectionError */
export async function lookAtAcls(cluster: Cluster, options: DescribeAclsOptions = {}): Promise<AclsSeen> {
  try {
    return { kind: 'seen', bindings: await describeAcls(cluster, options) }
  } catch (error) {
    if (error instanceof UnsupportedVersionError) return { kind: 'no-authorizer' }
    if (error instanceof KafkaError && error.code === Errors.SECURITY_DISABLED) return { kind: 'no-authorizer' }
    if (error instanceof KafkaError && error.code === Errors.CLUSTER_AUTHORIZATION_FAILED) return { kind: 'forbidden' }
    throw error
  }
}

const WITHIN_MS = 5_000
const EVERY_MS = 20

/**
 * Waits until every broker that answers goes by a change of rules: each learns of it by itself. False if one has not in time.
 *
 * @throws KafkaError
 * @throws ConnectionError
 */
export async function awaitAcls(
  cluster: Cluster,
  inForce: (bindings: readonly AclBinding[]) => boolean,
  options: Omit<DescribeAclsOptions, 'brokerId'> = {},
): Promise<boolean> {
  const until = performance.now() + WITHIN_MS
  const brokers = await cluster.brokers()
  const waits = brokers.map(async ({ id: brokerId }) => {
    for (;;) {
      const seen = await lookAtAcls(cluster, { ...options, brokerId })
      if (seen.kind !== 'seen' || inForce(seen.bindings)) return true
      if (performance.now() > until) return false
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
    }
  })
  return (await Promise.all(waits)).every(Boolean)
}

/** Waits until brokers go by what steps changed, as far as the options let us see; see {@link awaitAcls}. */
export const awaitSteps = (
  cluster: Cluster,
  steps: readonly { readonly binding: AclBinding; readonly effect: string }[],
  options: Omit<DescribeAclsOptions, 'brokerId'> = {},
): Promise<boolean> => {
  const expected = steps.map(({ binding, effect }) => [formatBinding(binding), effect === 'create'] as const)
  return awaitAcls(
    cluster,
    (bindings) => {
      const present = new Set(bindings.map(formatBinding))
      return expected.every(([key, there]) => present.has(key) === there)
    },
    options,
  )
}
