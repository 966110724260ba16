import { aclRulesProblem } from './acl-rules.js'
import { parsePattern, splitList } from './filters.js'

/** One setting of a mirror: docs, help and validation all read this table. */
export interface ConfigDefinition {
  readonly type: 'list' | 'int' | 'bytes' | 'choice'
  readonly default: string
  /** What is allowed, as a phrase for errors and docs. */
  readonly allowed: string
  /** True for a value that is allowed. */
  check(value: string): boolean
  /** Why a value is not allowed, as a part of a sentence, where more can be said than what is. */
  reason?(value: string): string | undefined
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

export const CONFIG_DEFINITIONS = {
  'mirror.topics.include': list(
    '',
    'Topics of the source that are added by themselves when they appear; topics given to add need none. Removed ones do not come back.',
  ),
  'mirror.topics.exclude': list(
    // What a reseed kept for somebody to judge is of no use on another cluster.
    '__.*,.*\\.diverged-\\d{8}T\\d{9}Z',
    'Topics no pattern finds; never binds a name, given to add or listed among the included. By default internal ones, and what a reseed kept.',
  ),
  'mirror.topic.properties.exclude': list(
    'follower.replication.throttled.replicas,leader.replication.throttled.replicas,message.timestamp.*,unclean.leader.election.enable,min.insync.replicas',
    'Topic settings that are not taken from the source: the destination’s own stay.',
  ),
  'mirror.groups.include': list('.*', 'Groups whose positions in mirrored topics are kept on the destination.'),
  'mirror.groups.exclude': list('', 'Groups left out of that.'),
  'mirror.acl.include': {
    type: 'list',
    default: '*',
    allowed: 'resourceType;resourceName;operation;permissionType;principal entries with commas between them, trailing fields optional',
    check: (value) => aclRulesProblem(splitList(value)) === undefined,
    reason: (value) => aclRulesProblem(splitList(value)),
    doc: 'Access rules taken from the source; * is all, empty is none.',
  },
  'mirror.metadata.refresh.interval.ms': int(
    30_000,
    100,
    undefined,
    'Milliseconds between two looks at topics, their settings and access rules.',
  ),
  'mirror.group.sync.interval.ms': int(5_000, 100, undefined, 'Milliseconds between two looks at group positions.'),
  'mirror.num.replica.fetchers': int(1, 1, 32, 'Fetchers for each pair of source leader and destination leader.'),
  'mirror.fetch.backoff.ms': int(1_000, 1, undefined, 'Milliseconds to pause after an error of one partition.'),
  'mirror.failed.retry.initial.backoff.ms': int(
    1_000,
    1,
    undefined,
    'Milliseconds before a FAILED partition is tried again for the first time; the pause doubles each time.',
  ),
  'mirror.failed.retry.max.backoff.ms': int(300_000, 1, undefined, 'The longest such pause, in milliseconds.'),
  'mirror.on.gap': choice(
    ['fail', 'record'],
    'What to do when the source no longer has what was to be copied next: stop as FAILED, or go on behind the gap and record it.',
  ),
  'mirror.buffer.bytes': int(67_108_864, 1_048_576, undefined, 'Most bytes a runner holds in flight, over all mirrors.', 'bytes'),
} as const satisfies Readonly<Record<string, ConfigDefinition>>

export type MirrorConfigKey = keyof typeof CONFIG_DEFINITIONS

export const isMirrorConfigKey = (key: string): key is MirrorConfigKey => Object.hasOwn(CONFIG_DEFINITIONS, key)
