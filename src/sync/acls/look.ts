import { type AclBinding, type DescribeAclsOptions, describeAcls } from '../../client/admin-acls.js'
import type { Cluster } from '../../client/cluster.js'
import { ConnectionError, UnsupportedVersionError } from '../../client/errors.js'
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

/** Who goes by a change of rules. `where reached`: every broker that answers; others do not. */
export type InForce = 'everywhere' | 'where reached' | 'not yet'

const WITHIN_MS = 5_000
const EVERY_MS = 20

/**
 * Waits until every broker that answers goes by a change of rules: each learns of it by itself. No longer than 5 s, and it does not
 * throw for what is out of reach: the change is made by then.
 */
export async function awaitAcls(
  cluster: Cluster,
  inForce: (bindings: readonly AclBinding[]) => boolean,
  options: Omit<DescribeAclsOptions, 'brokerId'> = {},
): Promise<InForce> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), WITHIN_MS)
  })
  // A call has a longer deadline of its own.
  const inTime = <T>(asked: Promise<T>): Promise<T | undefined> => Promise.race([over, asked.catch(outOfReach)])
  const follow = async (brokerId: number): Promise<InForce> => {
    for (let known: InForce = 'where reached'; ; known = 'not yet') {
      const seen = await inTime(lookAtAcls(cluster, { ...options, brokerId }))
      if (seen === undefined) return known
      if (seen.kind !== 'seen' || inForce(seen.bindings)) return 'everywhere'
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
    }
  }
  try {
    const brokers = await inTime(cluster.brokers())
    const outcomes = await Promise.all((brokers ?? []).map(({ id }) => follow(id)))
    if (outcomes.includes('not yet')) return 'not yet'
    return brokers === undefined || outcomes.includes('where reached') ? 'where reached' : 'everywhere'
  } finally {
    clearTimeout(timer)
  }
}

function outOfReach(error: unknown): undefined {
  if (!(error instanceof ConnectionError || error instanceof KafkaError)) throw error
}

/** Waits until brokers go by what steps changed, as far as the options let us see; see {@link awaitAcls}. */
export const awaitSteps = (
  cluster: Cluster,
  steps: readonly { readonly binding: AclBinding; readonly effect: string }[],
  options: Omit<DescribeAclsOptions, 'brokerId'> = {},
): Promise<InForce> => {
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
