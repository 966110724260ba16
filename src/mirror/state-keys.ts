import { type SyncLoopName, syncLoopOf } from './state.js'

/**
 * Keys of the state topic, as text. Names hold no '/'; setting names and access rules, which may, come last.
 * `status` and `sync` are written by their owners, on their shards; all others under the lock of the spec partition.
 */
export type StateKey =
  | { readonly kind: 'mirror'; readonly mirror: string }
  | { readonly kind: 'config'; readonly mirror: string; readonly key: string }
  | { readonly kind: 'topic'; readonly mirror: string; readonly topic: string }
  | { readonly kind: 'throttle/broker'; readonly broker: number }
  | { readonly kind: 'throttle/topic'; readonly topic: string }
  | { readonly kind: 'status'; readonly mirror: string; readonly topic: string; readonly partition: number }
  | { readonly kind: 'result'; readonly mirror: string; readonly topic: string }
  | { readonly kind: 'recovery'; readonly mirror: string; readonly topic: string; readonly partition: number }
  | { readonly kind: 'sync'; readonly mirror: string; readonly loop: SyncLoopName }
  /** `binding`: JSON array of resource type, pattern type, resource name, principal, host, operation, permission, as Kafka names them. */
  | { readonly kind: 'acl'; readonly mirror: string; readonly binding: string }

export function formatKey(key: StateKey): string {
  switch (key.kind) {
    case 'mirror':
      return `mirror/${key.mirror}`
    case 'config':
      return `config/${key.mirror}/${key.key}`
    case 'sync':
      return `sync/${key.mirror}/${key.loop}`
    case 'acl':
      return `acl/${key.mirror}/${key.binding}`
    case 'topic':
    case 'result':
      return `${key.kind}/${key.mirror}/${key.topic}`
    case 'throttle/broker':
      return `throttle/broker/${key.broker}`
    case 'throttle/topic':
      return `throttle/topic/${key.topic}`
    case 'status':
    case 'recovery':
      return `${key.kind}/${key.mirror}/${key.topic}/${key.partition}`
  }
}

/** Undefined for a key of a kind we do not know: a newer version's, which is none of our business. */
export function parseKey(text: string): StateKey | undefined {
  const [kind, first, ...others] = text.split('/')
  const rest = others.join('/')
  if (kind === undefined || first === undefined || first === '') return undefined
  if (kind === 'mirror' && others.length === 0) return { kind, mirror: first }
  if (kind === 'throttle' && first === 'broker' && /^\d+$/.test(rest)) return { kind: 'throttle/broker', broker: Number(rest) }
  if (kind === 'throttle' && first === 'topic' && rest !== '') return { kind: 'throttle/topic', topic: rest }
  if (rest === '') return undefined
  if (kind === 'config') return { kind, mirror: first, key: rest }
  if (kind === 'acl') return { kind, mirror: first, binding: rest }
  if (kind === 'sync') {
    const loop = syncLoopOf(rest)
    return loop && { kind, mirror: first, loop }
  }
  if ((kind === 'topic' || kind === 'result') && others.length === 1) return { kind, mirror: first, topic: rest }
  if ((kind === 'status' || kind === 'recovery') && others.length === 2 && /^\d+$/.test(others[1]!)) {
    return { kind, mirror: first, topic: others[0]!, partition: Number(others[1]) }
  }
  return undefined
}
