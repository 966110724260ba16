import { parsePattern, splitList } from './filters.js'

/** One setting of a mirror: docs, help and validation all read this table. */
export interface ConfigDefinition {
  readonly type: 'list' | 'int' | 'bytes' | 'choice'
  readonly default: string
  /** What is allowed, as a phrase for errors and docs. */
  readonly allowed: string
  /** True for a value that is allowed. */
  check(value: string): boolean
  readonly doc: string
}

const isInt = (value: string) => /^-?\d{1,10}$/.test(value) && Number(value) <= 2_147_483_647

function int(defaultValue: number, min: number, max: number | undefined, doc: string, type: 'int' | 'bytes' = 'int'): ConfigDefinition {
  return {
    type,
    default: String(defaultValue),
    allowed: max === undefined ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`,
    check: (value) => isInt(value) && Number(value) >= min && Number(value) <= (max ?? Number.POSITIVE_INFINITY),
    doc,
  }
}

function list(defaultValue: string, doc: string): ConfigDefinition {
  return {
    type: 'list',
    default: defaultValue,
    allowed: 'names or whole-name regular expressions with commas between them',
    check: (value) => splitList(value).every((entry) => readable(entry)),
    doc,
  }
}

function readable(pattern: string): boolean {
  try {
    return parsePattern(pattern) !== undefined
  } catch {
    return false
  }
}

function choice(values: readonly [string, ...string[]], doc: string): ConfigDefinition {
  return { type: 'choice', default: values[0], allowed: `one of ${values.join(', ')}`, check: (value) => values.includes(value), doc }
}

const ACL_ENTRY = /^[^;]*(?:;[^;]*){0,4}$/

export const CONFIG_DEFINITIONS = {
  'mirror.topics.include': list('', 'Topics found by themselves; topics given to add need none.'),
  'mirror.topics.exclude': list('__.*', 'Topics no pattern finds; never binds a name given to add.'),
  'mirror.topic.properties.exclude': list(
    'follower.replication.throttled.replicas,leader.replication.throttled.replicas,message.timestamp.*,unclean.leader.election.enable,min.insync.replicas',
    'Topic settings that are not taken from the source.',
  ),
  'mirror.groups.include': list('.*', 'Groups whose positions are kept on the destination.'),
  'mirror.groups.exclude': list('', 'Groups left out of that.'),
  'mirror.acl.include': {
    type: 'list',
    default: '*',
    allowed: 'resourceType;resourceName;operation;permissionType;principal entries with commas between them, trailing fields optional',
    check: (value) => splitList(value).every((entry) => ACL_ENTRY.test(entry)),
    doc: 'Rules taken from the source; * is all, empty is none.',
  },
  'mirror.metadata.refresh.interval.ms': int(30_000, 100, undefined, 'How often topics, settings and rules are compared.'),
  'mirror.group.sync.interval.ms': int(5_000, 100, undefined, 'How often group positions are compared.'),
  'mirror.num.replica.fetchers': int(1, 1, 32, 'Fetchers per source leader and destination leader.'),
  'mirror.fetch.backoff.ms': int(1_000, 1, undefined, 'Pause after an error of one partition.'),
  'mirror.failed.retry.initial.backoff.ms': int(1_000, 1, undefined, 'First pause before a FAILED partition is tried again.'),
  'mirror.failed.retry.max.backoff.ms': int(300_000, 1, undefined, 'Longest pause before a FAILED partition is tried again.'),
  'mirror.on.gap': choice(['fail', 'record'], 'What to do when the source no longer has what was to be copied next.'),
  'mirror.buffer.bytes': int(67_108_864, 1_048_576, undefined, 'Most bytes a runner holds in flight, over all mirrors.', 'bytes'),
} as const satisfies Readonly<Record<string, ConfigDefinition>>

/** Settings that are checked and kept, and that nothing acts on yet. */
export const NOT_IN_FORCE: ReadonlySet<string> = new Set([
  'mirror.topics.include',
  'mirror.groups.include',
  'mirror.groups.exclude',
  'mirror.acl.include',
  'mirror.metadata.refresh.interval.ms',
  'mirror.group.sync.interval.ms',
])

export type MirrorConfigKey = keyof typeof CONFIG_DEFINITIONS

export const isMirrorConfigKey = (key: string): key is MirrorConfigKey => Object.hasOwn(CONFIG_DEFINITIONS, key)
