import type { AclBinding } from '../client/admin-acls.js'
import { arrayOf, ShapeError, textOf } from './json.js'
import { RUNNER_GROUP } from './state-topic.js'

/** A rule as one text, the last part of its key in the state: a JSON array of Kafka's names. */
export const formatBinding = (binding: AclBinding): string =>
  JSON.stringify([
    ...[binding.resourceType, binding.patternType, binding.resourceName, binding.principal],
    ...[binding.host, binding.operation, binding.permission],
  ])

/** Undefined for what {@link formatBinding} cannot have written. */
export function parseBinding(text: string): AclBinding | undefined {
  try {
    const fields = arrayOf(JSON.parse(text), 'it', textOf)
    if (fields.length !== 7) return undefined
    const [resourceType, patternType, resourceName, principal, host, operation, permission] = fields as [
      ...[string, string, string, string, string, string, string],
    ]
    return { resourceType, patternType, resourceName, principal, host, operation, permission }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ShapeError) return undefined
    throw error
  }
}

/** As operators read it: `ALLOW WRITE on topic orders-* for User:alice`. */
export function describeBinding(binding: AclBinding): string {
  const type = binding.resourceType.toLowerCase().replaceAll('_', ' ')
  const name = binding.patternType === 'PREFIXED' ? `${binding.resourceName}* (prefixed)` : binding.resourceName
  const host = binding.host === '*' ? '' : ` from ${binding.host}`
  return `${binding.permission} ${binding.operation} on ${type} ${name} for ${binding.principal}${host}`
}

const everybody = { patternType: 'LITERAL', principal: 'User:*', host: '*', permission: 'DENY' } as const

/** What makes a mirrored topic read-only to all but super users. */
export const guardOf = (topic: string): AclBinding => ({
  ...everybody,
  resourceType: 'TOPIC',
  resourceName: topic,
  operation: 'WRITE',
})

/**
 * Forbids everybody what nobody does: delete a group that never is. A runner that may do so all the same is a super user,
 * whom no guard locks out.
 */
export const CANARY: AclBinding = {
  ...everybody,
  resourceType: 'GROUP',
  resourceName: `${RUNNER_GROUP}.super-user-check`,
  operation: 'DELETE',
}

/** Whether a rule on topics bears on this one. */
export function coversTopic(binding: AclBinding, topic: string): boolean {
  if (binding.resourceType !== 'TOPIC') return false
  if (binding.patternType === 'PREFIXED') return topic.startsWith(binding.resourceName)
  return binding.resourceName === topic || binding.resourceName === '*'
}

/** Whether a rule lets somebody write to topics. */
export const allowsWriting = ({ resourceType, permission, operation }: AclBinding): boolean =>
  resourceType === 'TOPIC' && permission === 'ALLOW' && (operation === 'WRITE' || operation === 'ALL')

/** What ALL on a topic comes to, besides WRITE (Kafka: AclEntry.supportedOperations). */
const ALL_BUT_WRITE = ['READ', 'CREATE', 'DELETE', 'ALTER', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS']

/** The rules that give what a withheld rule gives, save for writing. WRITE implies DESCRIBE. */
export function standInsFor(binding: AclBinding): AclBinding[] {
  if (!allowsWriting(binding)) return []
  const operations = binding.operation === 'ALL' ? ALL_BUT_WRITE : ['DESCRIBE']
  return operations.map((operation) => ({ ...binding, operation }))
}

/** A rule on many topics as it is for one of them. */
export const narrowedTo = (binding: AclBinding, topic: string): AclBinding => ({
  ...binding,
  patternType: 'LITERAL',
  resourceName: topic,
})
