import type { AclBinding } from '../client/admin-acls.js'
import { usageError } from './errors.js'
import { parsePattern } from './filters.js'

/** Which rules of the source are taken: `mirror.acl.include`, parsed. */
export interface AclRules {
  includes(binding: AclBinding): boolean
}

const RESOURCE_TYPES = ['TOPIC', 'GROUP', 'CLUSTER', 'TRANSACTIONAL_ID', 'DELEGATION_TOKEN', 'USER']
const OPERATIONS = [
  ...['ALL', 'READ', 'WRITE', 'CREATE', 'DELETE', 'ALTER', 'DESCRIBE', 'CLUSTER_ACTION', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS'],
  ...['IDEMPOTENT_WRITE', 'CREATE_TOKENS', 'DESCRIBE_TOKENS', 'TWO_PHASE_COMMIT'],
]
const PERMISSIONS = ['ALLOW', 'DENY']
const FIELDS = ['resourceType', 'resourceName', 'operation', 'permissionType', 'principal'] as const

/** Types a rule means that names none. Cluster, tokens and users are for administrators of one cluster. */
const USUAL_TYPES: ReadonlySet<string> = new Set(['TOPIC', 'GROUP', 'TRANSACTIONAL_ID'])
/** Makes its principal a broker: taken only where the operation is named. */
const BROKERS_OWN: ReadonlySet<string> = new Set(['CLUSTER_ACTION', 'ALL'])

/**
 * Rules as `mirror.acl.include` lists them: `resourceType;resourceName;operation;permissionType;principal`. Trailing fields may
 * be left out, `*` (or nothing) is all. Types, operations and permissions are Kafka's names in any case, `TransactionalId` or
 * `transactional_id`; resource names and principals are names or whole-name regular expressions.
 *
 * Without a resource type a rule means topics, groups and transactional ids, IDEMPOTENT_WRITE on the cluster, and whatever is
 * denied on the cluster; other rights on the cluster are taken where the rule says `cluster`, and those that make somebody a
 * broker (CLUSTER_ACTION, ALL) where it says the operation too.
 *
 * @throws MirrorError (usage) naming the rule and the field
 */
export function parseAclRules(entries: readonly string[]): AclRules {
  const rules = entries.map(parseRule)
  return { includes: (binding) => rules.some((includes) => includes(binding)) }
}

/** What is wrong with these rules, as the end of a sentence; undefined if nothing is. */
export function aclRulesProblem(entries: readonly string[]): string | undefined {
  try {
    parseAclRules(entries)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function parseRule(text: string): (binding: AclBinding) => boolean {
  const fields = text.split(';').map((field) => field.trim())
  if (fields.length > FIELDS.length) {
    throw usageError('INVALID_CONFIG', `the rule '${text}' has more than ${FIELDS.length} fields`, `Fields are ${FIELDS.join(';')}.`)
  }
  const type = choiceIn(text, fields[0], 'resource type', RESOURCE_TYPES)
  const name = patternIn(text, fields[1])
  const operation = choiceIn(text, fields[2], 'operation', OPERATIONS)
  const permission = choiceIn(text, fields[3], 'permission type', PERMISSIONS)
  const principal = patternIn(text, fields[4])
  return (binding) =>
    isMeant(binding, type, operation) &&
    (permission === undefined || permission === binding.permission) &&
    name(binding.resourceName) &&
    principal(binding.principal)
}

function isMeant(binding: AclBinding, type: string | undefined, operation: string | undefined): boolean {
  if (operation !== undefined && operation !== binding.operation) return false
  if (type !== undefined && type !== binding.resourceType) return false
  if (binding.resourceType === 'CLUSTER') {
    if (binding.permission === 'DENY' || binding.operation === 'IDEMPOTENT_WRITE') return true
    return type !== undefined && (operation !== undefined || !BROKERS_OWN.has(binding.operation))
  }
  return type !== undefined || USUAL_TYPES.has(binding.resourceType)
}

const isAll = (field: string | undefined): field is '' | '*' | undefined => field === undefined || field === '' || field === '*'

/** `AlterConfigs`, `alter_configs` and `ALTER-CONFIGS` are one name. */
const bare = (name: string) => name.replace(/[_-]/g, '').toUpperCase()

function choiceIn(rule: string, field: string | undefined, what: string, choices: readonly string[]): string | undefined {
  if (isAll(field)) return undefined
  const found = choices.find((choice) => bare(choice) === bare(field))
  if (found !== undefined) return found
  throw usageError('INVALID_CONFIG', `the rule '${rule}' has the unknown ${what} '${field}'`, `Known: ${choices.join(', ')}, or * for all.`)
}

function patternIn(rule: string, field: string | undefined): (name: string) => boolean {
  if (isAll(field)) return () => true
  try {
    const pattern = parsePattern(field)
    return (name) => pattern.matches(name)
  } catch (error) {
    throw usageError('INVALID_CONFIG', `in the rule '${rule}' ${error instanceof Error ? error.message : error}`)
  }
}
