import { describe, expect, it } from 'vitest'
import { checkConfigs, clientPropertiesOf, mirrorConfigOf } from '../../../src/mirror/config.js'
import { CONFIG_DEFINITIONS } from '../../../src/mirror/config-definitions.js'
import { parseDuration } from '../../../src/mirror/durations.js'
import { MirrorError } from '../../../src/mirror/errors.js'
import { holdSettings, releaseSettings } from '../../../src/mirror/held.js'
import { checkName } from '../../../src/mirror/names.js'
import { mayFollow, PARTITION_STATES } from '../../../src/mirror/partition-states.js'
import { isSecret, withoutSecrets } from '../../../src/mirror/secrets.js'
import { formatReplicas, parseRate, parseReplicas } from '../../../src/mirror/throttles.js'

function thrown(action: () => unknown): MirrorError {
  try {
    action()
  } catch (error) {
    if (error instanceof MirrorError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('configs', () => {
  it('have defaults that pass their own check', () => {
    for (const [key, definition] of Object.entries(CONFIG_DEFINITIONS)) {
      expect(definition.check(definition.default), key).toBe(true)
    }
    expect(mirrorConfigOf(new Map())).toMatchObject({
      numReplicaFetchers: 1,
      onGap: 'fail',
      topicsExclude: ['__.*', '.*\\.diverged-\\d{8}T\\d{9}Z'],
      groupsInclude: ['.*'],
    })
  })

  it.each([
    ['mirror.num.replica.fetchers', '33', 'a whole number from 1 to 32'],
    ['mirror.num.replica.fetchers', '1.5', 'a whole number from 1 to 32'],
    ['mirror.on.gap', 'skip', 'one of fail, record'],
    ['mirror.metadata.refresh.interval.ms', '99', 'at least 100'],
    ['mirror.topics.include', 'a(', 'regular expressions'],
    ['mirror.buffer.bytes', '9999999999', 'at least'],
  ])('names key, value and what is allowed: %s=%s', (key, value, allowed) => {
    const error = thrown(() => checkConfigs([[key, value]]))
    expect(error.kind).toBe('usage')
    expect(error.message).toBe(`'${value}' is not a value for ${key}`)
    expect(error.advice).toContain(allowed)
  })

  it('refuses an unknown key of ours and lets client keys pass', () => {
    expect(thrown(() => checkConfigs([['mirror.topics', 'a']])).message).toBe('there is no setting mirror.topics')
    checkConfigs([
      ['sasl.mechanism', 'PLAIN'],
      ['whatever', 'x'],
    ])
    expect([
      ...clientPropertiesOf(
        new Map([
          ['bootstrap.servers', 'a'],
          ['mirror.on.gap', 'fail'],
        ]),
      ).keys(),
    ]).toEqual(['bootstrap.servers'])
  })

  it('never shows a secret', () => {
    for (const key of ['sasl.jaas.config', 'ssl.key.password', 'ssl.keystore.key', 'ssl.truststore.password'])
      expect(isSecret(key)).toBe(true)
    expect(
      withoutSecrets(
        new Map([
          ['ssl.key.password', 'x'],
          ['a', 'b'],
        ]),
      ),
    ).toEqual({ a: 'b', 'ssl.key.password': '[hidden]' })
  })
})

describe('names', () => {
  it('follow Kafka’s rule', () => {
    for (const name of ['a', 'A.b_c-9', 'x'.repeat(249)]) checkName('topic', name)
    for (const name of ['', '.', '..', 'a/b', 'a b', 'ü', 'x'.repeat(250)])
      expect(thrown(() => checkName('mirror', name)).code).toBe('INVALID_NAME')
  })
})

describe('throttles and durations', () => {
  it.each([
    ['1024', 1024],
    ['50MB', 50_000_000],
    ['1.5KiB', 1536],
    ['10 MB/s', 10_000_000],
    ['1', 1],
  ])('reads %s', (text, rate) => {
    expect(parseRate(text)).toBe(rate)
  })

  it.each(['0', '-1', '', 'MB', '5mb', '1e6', '0.2'])('refuses the rate %j', (text) => {
    expect(thrown(() => parseRate(text)).code).toBe('INVALID_THROTTLE')
  })

  it('reads replicas as the KIP and the tools write them', () => {
    expect(parseReplicas('[0:4]')).toEqual([{ partition: 0, broker: 4 }])
    expect(formatReplicas(parseReplicas(' 0:4, 1:4 '))).toBe('0:4,1:4')
    expect(parseReplicas('*')).toBe('*')
    for (const text of ['', '0', '0:', 'a:b', '0:4,', '[0:4']) expect(thrown(() => parseReplicas(text)).code).toBe('INVALID_THROTTLE')
  })

  it('reads durations with a unit', () => {
    expect(['500ms', '30s', '1.5m', '1h'].map((text) => parseDuration(text))).toEqual([500, 30_000, 90_000, 3_600_000])
    expect(thrown(() => parseDuration('30', '--wait')).message).toBe("--wait '30' is not a duration")
  })
})

describe('held settings', () => {
  const destination = new Map([
    ['retention.ms', '604800000'],
    ['retention.bytes', '-1'],
    ['cleanup.policy', 'delete'],
    ['compression.type', 'producer'],
    ['message.timestamp.type', 'CreateTime'],
    ['message.timestamp.before.max.ms', '9223372036854775807'],
    ['message.timestamp.after.max.ms', '3600000'],
    ['max.message.bytes', '1048588'],
    ['segment.bytes', '1073741824'],
  ])
  const overrides = new Map([
    ['retention.ms', '1000'],
    ['cleanup.policy', 'compact'],
    ['segment.bytes', '1048576'],
    ['message.timestamp.type', 'LogAppendTime'],
    ['only.on.the.source', 'x'],
  ])
  const source = { overrides, effective: new Map([...destination, ...overrides, ['max.message.bytes', '2000000']]) }

  it('forces what old data needs and keeps the real values for failover', () => {
    const { apply, held } = holdSettings(source, destination, ['message.timestamp.*'])
    expect(Object.fromEntries(apply)).toMatchObject({
      'retention.ms': '-1',
      'cleanup.policy': 'delete',
      'segment.bytes': '1048576',
      'max.message.bytes': '2000000',
    })
    expect(apply.has('only.on.the.source')).toBe(false)
    expect(apply.has('message.timestamp.difference.max.ms')).toBe(false)
    expect(held).toMatchObject({
      'retention.ms': '1000',
      'cleanup.policy': 'compact',
      'retention.bytes': null,
      'message.timestamp.type': null,
    })
    expect(releaseSettings(held).get('max.message.bytes')).toBeNull()
  })

  it('gives local settings of a topic that was there back', () => {
    const { held } = holdSettings(
      source,
      destination,
      [],
      new Map([
        ['retention.bytes', '5'],
        ['retention.ms', '7'],
      ]),
    )
    expect(held).toMatchObject({ 'retention.bytes': '5', 'retention.ms': '1000', 'message.timestamp.type': 'LogAppendTime' })
  })

  it('knows what undoes them: whatever is set, a topic that was there has its own again', () => {
    const local = new Map(Object.entries({ 'retention.ms': '7', 'segment.bytes': '9', 'flush.ms': '1' }))
    const { apply, own } = holdSettings(source, destination, [], local)
    expect(Object.keys(own).sort()).toEqual([...apply.keys()].sort())
    expect(own).toMatchObject({ 'retention.ms': '7', 'segment.bytes': '9', 'cleanup.policy': null })
  })

  it('does not take what an unfinished addition left for the owner’s own', () => {
    const { apply, held } = holdSettings(source, destination, [])
    expect(holdSettings(source, destination, [], apply)).toMatchObject({ apply, held })
  })
})

describe('partition states', () => {
  it('lead only to states that exist, and every one can be reached from the start', () => {
    const reached = new Set(['LOG_ALIGNMENT'])
    for (const from of reached) for (const to of PARTITION_STATES[from as keyof typeof PARTITION_STATES].next) reached.add(to)
    expect([...reached].sort()).toEqual(Object.keys(PARTITION_STATES).sort())
    expect(mayFollow('STOPPED', 'MIRRORING')).toBe(false)
    expect(mayFollow('MIRRORING', 'MIRRORING')).toBe(true)
  })
})
