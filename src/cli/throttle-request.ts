import type { ThrottleTarget, ThrottleValue } from '../service/types.js'
import { wrongUse } from './errors.js'
import { parseAssignments, splitLists } from './lists.js'

/** The flags of `throttle`, both families. */
export interface ThrottleFlags {
  readonly broker?: string | undefined
  readonly topic?: string | undefined
  readonly source?: boolean | undefined
  readonly mirror?: string | undefined
  readonly client?: string | undefined
  readonly rate?: string | undefined
  readonly replicas?: string | undefined
  readonly clear?: boolean | undefined
  readonly 'entity-type'?: string | undefined
  readonly 'entity-name'?: string | undefined
  readonly alter?: boolean | undefined
  readonly describe?: boolean | undefined
  readonly 'add-config'?: readonly string[] | undefined
  readonly 'delete-config'?: readonly string[] | undefined
}

export type ThrottleRequest =
  | { readonly action: 'set'; readonly target: ThrottleTarget; readonly value: ThrottleValue }
  | { readonly action: 'describe'; readonly target?: ThrottleTarget; readonly mirror?: string; readonly kind?: ThrottleTarget['kind'] }

/** The entities of `kafka-configs.sh` that can be throttled, and the one config each has. */
const ENTITIES = {
  brokers: { config: 'mirror.replication.throttled.rate', kind: 'broker' },
  topics: { config: 'mirror.replication.throttled.replicas', kind: 'topic' },
  clients: { config: 'consumer_byte_rate', kind: 'client' },
} as const

type EntityType = keyof typeof ENTITIES

/**
 * What the flags of `throttle` ask for. Both families say the same: `--broker 4 --rate 50MB`, and `--entity-type brokers
 * --entity-name 4 --alter --add-config mirror.replication.throttled.rate=…` as the KIP writes it for `kafka-configs.sh`.
 *
 * @throws MirrorError (usage) for flags that do not belong together
 */
export function throttleRequest(flags: ThrottleFlags): ThrottleRequest {
  const ours = ['broker', 'topic', 'source', 'mirror', 'client', 'rate', 'replicas', 'clear'] as const
  const theirs = ['entity-type', 'entity-name', 'alter', 'add-config', 'delete-config'] as const
  const our = ours.find((name) => flags[name] !== undefined && flags[name] !== false)
  const their = theirs.find((name) => flags[name] !== undefined && flags[name] !== false)
  if (our && their) throw wrongUse(`--${our} and --${their} cannot be given together`, 'use the flags of one family')
  return their ? entityRequest(flags) : ownRequest(flags)
}

function ownRequest(flags: ThrottleFlags): ThrottleRequest {
  const target = ownTarget(flags)
  if (flags.rate !== undefined && flags.clear) throw wrongUse('--rate and --clear cannot be given together')
  if (flags.replicas !== undefined && flags.clear) throw wrongUse('--replicas and --clear cannot be given together')
  if (flags.replicas !== undefined && target?.kind !== 'topic') throw wrongUse('--replicas goes with --topic')
  if (flags.rate !== undefined && (!target || target.kind === 'topic')) {
    throw wrongUse('--rate goes with --broker, or with --source --mirror --client')
  }
  if (flags.clear && !target) throw wrongUse('--clear needs to know what', 'add --broker, --topic, or --source --mirror --client')
  const changes = flags.rate !== undefined || flags.replicas !== undefined || flags.clear === true
  if (!changes || flags.describe) return { action: 'describe', target, mirror: flags.source ? flags.mirror : undefined }
  if (flags.clear) return { action: 'set', target: target!, value: null }
  return { action: 'set', target: target!, value: flags.replicas !== undefined ? { replicas: flags.replicas } : { rate: flags.rate! } }
}

function ownTarget({ broker, topic, source, mirror, client }: ThrottleFlags): ThrottleTarget | undefined {
  const kinds = [broker !== undefined && '--broker', topic !== undefined && '--topic', source && '--source'].filter(Boolean)
  if (kinds.length > 1) throw wrongUse(`${kinds.join(' and ')} cannot be given together`)
  if (source) {
    if (!mirror) throw wrongUse('--source needs --mirror', 'the mirror whose source is throttled')
    return client === undefined ? undefined : { kind: 'source', mirror, client }
  }
  if (client !== undefined || mirror !== undefined) throw wrongUse('--mirror and --client go with --source')
  if (topic !== undefined) return { kind: 'topic', topic }
  return broker === undefined ? undefined : { kind: 'broker', broker: brokerId(broker) }
}

function entityRequest(flags: ThrottleFlags): ThrottleRequest {
  const type = flags['entity-type'] as EntityType | undefined
  if (type === undefined) throw wrongUse('--entity-type is missing', `one of ${Object.keys(ENTITIES).join(', ')}`)
  const name = flags['entity-name']
  const added = parseAssignments(flags['add-config'], '--add-config')
  const deleted = splitLists(flags['delete-config'])
  const entity = ENTITIES[type]
  const target = name === undefined ? undefined : entityTarget(type, name)
  if (flags.describe || !flags.alter) {
    if (added.size + deleted.length > 0) throw wrongUse('--add-config and --delete-config go with --alter')
    return { action: 'describe', target, kind: entity.kind }
  }
  if (!target) throw wrongUse('--entity-name is missing')
  const other = [...added.keys(), ...deleted].find((key) => key !== entity.config)
  if (other !== undefined) throw wrongUse(`${other} is not a throttle of ${type}`, `it is ${entity.config}`)
  if (added.size + deleted.length !== 1) throw wrongUse('--alter needs --add-config or --delete-config', `with ${entity.config}`)
  if (deleted.length > 0) return { action: 'set', target, value: null }
  const value = added.get(entity.config)!
  return { action: 'set', target, value: target.kind === 'topic' ? { replicas: value } : { rate: value } }
}

function entityTarget(type: EntityType, name: string): ThrottleTarget {
  if (type === 'brokers') return { kind: 'broker', broker: brokerId(name) }
  return type === 'topics' ? { kind: 'topic', topic: name } : { kind: 'client', client: name }
}

function brokerId(text: string): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) > 2 ** 31 - 1) throw wrongUse(`'${text}' is not a broker id`)
  return Number(text)
}

/** The entity of a throttle in the words of `kafka-configs.sh`: `broker 4`, `topic my-topic`, `client …`. */
export function entityText(target: ThrottleTarget): string {
  if (target.kind === 'broker') return `broker ${target.broker}`
  return target.kind === 'topic' ? `topic ${target.topic}` : `client ${target.client}`
}
