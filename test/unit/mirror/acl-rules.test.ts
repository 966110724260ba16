import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AclBinding } from '../../../src/client/admin-acls.js'
import {
  allowsWriting,
  coversTopic,
  describeBinding,
  formatBinding,
  guardOf,
  parseBinding,
  standInsFor,
} from '../../../src/mirror/acl-bindings.js'
import { parseAclRules } from '../../../src/mirror/acl-rules.js'
import { checkConfigs } from '../../../src/mirror/config.js'
import { splitList } from '../../../src/mirror/filters.js'

const binding = (fields: Partial<AclBinding> = {}): AclBinding => ({
  resourceType: 'TOPIC',
  patternType: 'LITERAL',
  resourceName: 'orders',
  principal: 'User:alice',
  host: '*',
  operation: 'READ',
  permission: 'ALLOW',
  ...fields,
})

const takes = (rules: string, fields: Partial<AclBinding> = {}) => parseAclRules(splitList(rules)).includes(binding(fields))

describe('mirror.acl.include', () => {
  it('takes all of what clients need, and nothing when empty', () => {
    for (const resourceType of ['TOPIC', 'GROUP', 'TRANSACTIONAL_ID']) expect(takes('*', { resourceType })).toBe(true)
    expect(takes('')).toBe(false)
  })

  it('compares field by field, with trailing fields left out and any way to write the names', () => {
    expect(takes('topic;orders')).toBe(true)
    expect(takes('group;orders')).toBe(false)
    expect(takes('Topic;ord.*;read;ALLOW;User:alice')).toBe(true)
    expect(takes(';;;deny')).toBe(false)
    expect(takes('*;*;*;*;User:bob')).toBe(false)
    expect(takes('TransactionalId;*;Write', { resourceType: 'TRANSACTIONAL_ID', operation: 'WRITE' })).toBe(true)
    expect(takes('topic;*;alter-configs', { operation: 'ALTER_CONFIGS' })).toBe(true)
    expect(takes('group, topic;orders;*;*;User:CN=a\\,OU=b', { principal: 'User:CN=a,OU=b' })).toBe(true)
  })

  it('takes patterns by their own names', () => {
    const pattern = { patternType: 'PREFIXED', resourceName: 'orders-' }
    expect(takes('topic;orders-', pattern)).toBe(true)
    expect(takes('topic;orders-1', pattern)).toBe(false)
    expect(takes('topic;orders', { resourceName: '*' })).toBe(false)
  })

  it('makes nobody an administrator or a broker who is not named', () => {
    const on = (operation: string, permission = 'ALLOW') => ({
      resourceType: 'CLUSTER',
      resourceName: 'kafka-cluster',
      operation,
      permission,
    })
    expect(takes('*', on('IDEMPOTENT_WRITE'))).toBe(true)
    expect(takes('*', on('ALTER'))).toBe(false)
    expect(takes('*', on('ALTER', 'DENY'))).toBe(true)
    expect(takes('cluster', on('ALTER'))).toBe(true)
    for (const operation of ['CLUSTER_ACTION', 'ALL']) {
      expect(takes('cluster', on(operation))).toBe(false)
      expect(takes(`cluster;*;${operation}`, on(operation))).toBe(true)
    }
    expect(takes('*', { resourceType: 'USER', operation: 'CREATE_TOKENS' })).toBe(false)
    expect(takes('user', { resourceType: 'USER', operation: 'CREATE_TOKENS' })).toBe(true)
  })

  it('says which field of which rule is wrong', () => {
    const check = (value: string) => () => checkConfigs([['mirror.acl.include', value]])
    expect(check('*')).not.toThrow()
    expect(check('topic;orders,queue;x')).toThrow("the rule 'queue;x' has the unknown resource type 'queue'")
    expect(check('topic;x;reed')).toThrow("the rule 'topic;x;reed' has the unknown operation 'reed'")
    expect(check('topic;x;read;maybe')).toThrow("has the unknown permission type 'maybe'")
    expect(check('a;b;c;d;e;f')).toThrow('has more than 5 fields')
    expect(check('topic;a(')).toThrow("in the rule 'topic;a(' 'a(' is neither a name nor a regular expression")
  })
})

describe('bindings', () => {
  it('come back from their text', () => {
    const text = fc.string()
    fc.assert(
      fc.property(fc.record({ resourceName: text, principal: text, host: text }), (fields) => {
        expect(parseBinding(formatBinding(binding(fields)))).toEqual(binding(fields))
      }),
    )
    for (const odd of ['', '{}', '[]', '["a"]', '[1,2,3,4,5,6,7]', '[']) expect(parseBinding(odd)).toBeUndefined()
  })

  it('bear on the topics that Kafka says', () => {
    expect(coversTopic(binding(), 'orders')).toBe(true)
    expect(coversTopic(binding(), 'orders-1')).toBe(false)
    expect(coversTopic(binding({ patternType: 'PREFIXED' }), 'orders-1')).toBe(true)
    expect(coversTopic(binding({ resourceName: '*' }), 'x')).toBe(true)
    expect(coversTopic(binding({ patternType: 'PREFIXED', resourceName: '*' }), 'x')).toBe(false)
    expect(coversTopic(binding({ resourceType: 'GROUP' }), 'orders')).toBe(false)
  })

  it('that let topics be written have others in their stead', () => {
    expect(['READ', 'WRITE', 'ALL', 'DESCRIBE'].filter((operation) => allowsWriting(binding({ operation })))).toEqual(['WRITE', 'ALL'])
    expect(allowsWriting(guardOf('orders'))).toBe(false)
    expect(standInsFor(binding({ operation: 'WRITE' })).map(({ operation }) => operation)).toEqual(['DESCRIBE'])
    expect(standInsFor(binding({ operation: 'ALL' })).some(allowsWriting)).toBe(false)
    expect(standInsFor(binding())).toEqual([])
  })

  it('are told as a sentence', () => {
    expect(describeBinding(binding({ patternType: 'PREFIXED', host: '10.0.0.1' }))).toBe(
      'ALLOW READ on topic orders* (prefixed) for User:alice from 10.0.0.1',
    )
  })
})
