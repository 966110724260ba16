import { CreateAcls, DeleteAcls, DescribeAcls, Errors, KafkaError, kafkaError } from '../protocol/index.js'
import type { Cluster } from './cluster.js'
import { ConnectionError } from './errors.js'
import { batchesOf } from './many.js'
import { failed, type Result, resultOf } from './result.js'

/** Kafka: ResourceType, PatternType, AclOperation, AclPermissionType; the position is the number on the wire. */
const RESOURCE_TYPES = ['UNKNOWN', 'ANY', 'TOPIC', 'GROUP', 'CLUSTER', 'TRANSACTIONAL_ID', 'DELEGATION_TOKEN', 'USER']
const PATTERN_TYPES = ['UNKNOWN', 'ANY', 'MATCH', 'LITERAL', 'PREFIXED']
const OPERATIONS = [
  ...['UNKNOWN', 'ANY', 'ALL', 'READ', 'WRITE', 'CREATE', 'DELETE', 'ALTER', 'DESCRIBE', 'CLUSTER_ACTION', 'DESCRIBE_CONFIGS'],
  ...['ALTER_CONFIGS', 'IDEMPOTENT_WRITE', 'CREATE_TOKENS', 'DESCRIBE_TOKENS', 'TWO_PHASE_COMMIT'],
]
const PERMISSIONS = ['UNKNOWN', 'ANY', 'DENY', 'ALLOW']

const ANY = 1
const MATCH = 2
const TOPIC = 2

/** What every broker that knows ACLs at all understands (2.0). One that does not know a number closes the connection. */
const COMMON_RESOURCE_TYPE = 6
const COMMON_OPERATION = 12
/** KRaft controllers take a request whole or not at all, and not without limit. */
const AT_ONCE = 500

/**
 * One rule of the authorizer. Every field is Kafka's own name (`TOPIC`, `PREFIXED`, `WRITE`, `ALLOW`, …); a number that is newer
 * than our tables is given as its digits.
 */
export interface AclBinding {
  readonly resourceType: string
  /** LITERAL (where the name `*` means every name) or PREFIXED. */
  readonly patternType: string
  readonly resourceName: string
  /** `User:alice`; `User:*` is everybody. */
  readonly principal: string
  readonly host: string
  readonly operation: string
  readonly permission: string
}

export interface DescribeAclsOptions {
  /** Only what bears on this topic: its own rules, prefixes of it and `*`. */
  readonly topic?: string
  /** As this broker sees it; each learns of changes by itself. */
  readonly brokerId?: number
}

/**
 * The rules of a cluster as one broker knows them.
 *
 * @throws KafkaError SECURITY_DISABLED where there is no authorizer, CLUSTER_AUTHORIZATION_FAILED without DESCRIBE on the cluster
 * @throws ConnectionError
 * @throws UnsupportedVersionError by brokers that keep no rules
 */
export async function describeAcls(cluster: Cluster, { topic, brokerId }: DescribeAclsOptions = {}): Promise<AclBinding[]> {
  const request = {
    resourceTypeFilter: topic === undefined ? ANY : TOPIC,
    resourceNameFilter: topic ?? null,
    patternTypeFilter: topic === undefined ? ANY : MATCH,
    principalFilter: null,
    hostFilter: null,
    operation: ANY,
    permissionType: ANY,
  }
  const response = await (brokerId === undefined ? cluster.any(DescribeAcls, request) : cluster.broker(brokerId, DescribeAcls, request))
  if (response.errorCode !== 0) throw kafkaError(response.errorCode, response.errorMessage)
  return response.resources.flatMap(({ resourceType, patternType, resourceName, acls }) =>
    acls.map((acl) => ({
      resourceType: nameIn(RESOURCE_TYPES, resourceType),
      patternType: nameIn(PATTERN_TYPES, patternType),
      resourceName,
      principal: acl.principal,
      host: acl.host,
      operation: nameIn(OPERATIONS, acl.operation),
      permission: nameIn(PERMISSIONS, acl.permissionType),
    })),
  )
}

/**
 * Adds rules, an outcome for each in their order. One that is there already is left as it is.
 *
 * @throws ConnectionError
 */
export async function createAcls(cluster: Cluster, bindings: readonly AclBinding[]): Promise<Array<Result<void>>> {
  return inBatches(bindings, async (batch, options) => {
    const creations = batch.map((binding) => {
      const { patternType: resourcePatternType, ...others } = numbersOf(binding)
      return { ...others, resourcePatternType }
    })
    const { results } = await cluster.controller(CreateAcls, { creations }, options)
    return results.map(({ errorCode, errorMessage }) => resultOf(errorCode, errorMessage, undefined))
  })
}

/**
 * Removes exactly these rules, an outcome for each in their order. One that is not there is no error.
 *
 * @throws ConnectionError
 */
export async function deleteAcls(cluster: Cluster, bindings: readonly AclBinding[]): Promise<Array<Result<void>>> {
  return inBatches(bindings, async (batch, options) => {
    const filters = batch.map((binding) => {
      const { resourceType, resourceName, patternType, principal, host, ...others } = numbersOf(binding)
      return {
        ...others,
        resourceTypeFilter: resourceType,
        resourceNameFilter: resourceName,
        patternTypeFilter: patternType,
        principalFilter: principal,
        hostFilter: host,
      }
    })
    const { filterResults } = await cluster.controller(DeleteAcls, { filters }, options)
    return filterResults.map(({ errorCode, errorMessage, matchingAcls }) => {
      const bad = errorCode === 0 ? matchingAcls.find((match) => match.errorCode !== 0) : { errorCode, errorMessage }
      return resultOf(bad?.errorCode ?? 0, bad?.errorMessage, undefined)
    })
  })
}

type Send = (batch: readonly AclBinding[], options: { readonly retry?: boolean }) => Promise<Array<Result<void>>>

/** Rules that an older broker may not be able to read go one by one: it would refuse the whole request by hanging up. */
async function inBatches(bindings: readonly AclBinding[], send: Send): Promise<Array<Result<void>>> {
  const results: Array<Result<void>> = []
  const common = [...bindings.keys()].filter((at) => isCommon(bindings[at]!))
  for (const batch of batchesOf(common, AT_ONCE)) {
    const answers = await send(
      batch.map((at) => bindings[at]!),
      {},
    )
    for (const [i, at] of batch.entries()) results[at] = answers[i] ?? LACKING
  }
  for (const [at, binding] of bindings.entries()) {
    if (isCommon(binding)) continue
    try {
      results[at] = (await send([binding], { retry: false }))[0] ?? LACKING
    } catch (error) {
      if (!(error instanceof KafkaError) && !(error instanceof ConnectionError && error.kind === 'closed')) throw error
      results[at] = failed(error)
    }
  }
  return results
}

const LACKING = failed(kafkaError(Errors.UNKNOWN_SERVER_ERROR, 'the answer lacks the rule'))

function isCommon(binding: AclBinding): boolean {
  const { resourceType, operation } = numbersOf(binding)
  return resourceType <= COMMON_RESOURCE_TYPE && operation <= COMMON_OPERATION
}

function numbersOf(binding: AclBinding) {
  return {
    resourceType: numberIn(RESOURCE_TYPES, binding.resourceType),
    resourceName: binding.resourceName,
    patternType: numberIn(PATTERN_TYPES, binding.patternType),
    principal: binding.principal,
    host: binding.host,
    operation: numberIn(OPERATIONS, binding.operation),
    permissionType: numberIn(PERMISSIONS, binding.permission),
  }
}

const nameIn = (names: readonly string[], number: number): string => names[number] ?? String(number)

function numberIn(names: readonly string[], name: string): number {
  const at = names.indexOf(name)
  return at >= 0 ? at : Number(name)
}
