import { usageError } from './errors.js'

/** One replica whose copying is throttled: a partition as led by a broker. */
export interface ThrottledReplica {
  readonly partition: number
  readonly broker: number
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}

/** `1048576`, `50MB`, `1.5GiB`, optionally with `/s` → whole bytes per second, at least 1. Throws MirrorError (usage). */
export function parseRate(text: string | number): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(B|kB|KB|MB|GB|KiB|MiB|GiB)?(?:\/s)?$/.exec(String(text).trim()) ?? []
  const rate = Math.floor(Number(amount) * UNITS[unit ?? '']!)
  if (amount === undefined || !Number.isSafeInteger(rate) || rate < 1) {
    throw usageError(
      'INVALID_THROTTLE',
      `'${text}' is not a rate`,
      'A rate is bytes per second, at least 1: 100000000, 50MB (10^6), 64MiB (2^20).',
    )
  }
  return rate
}

/** `0:4`, `[0:4]`, `0:4,1:4` (partition:broker) or `*`. Throws MirrorError (usage). */
export function parseReplicas(text: string): readonly ThrottledReplica[] | '*' {
  const inner = text
    .trim()
    .replace(/^\[(.*)\]$/s, '$1')
    .trim()
  if (inner === '*') return '*'
  const replicas = inner.split(',').map((part) => /^\s*(\d{1,9}):(\d{1,9})\s*$/.exec(part))
  if (replicas.some((match) => match === null)) {
    throw usageError(
      'INVALID_THROTTLE',
      `'${text}' is not a list of replicas`,
      "Replicas are partition:broker pairs with commas between them, like 0:4,1:4, or '*' for all.",
    )
  }
  return replicas.map((match) => ({ partition: Number(match![1]), broker: Number(match![2]) }))
}

export const formatReplicas = (replicas: readonly ThrottledReplica[] | '*'): string =>
  replicas === '*' ? '*' : replicas.map(({ partition, broker }) => `${partition}:${broker}`).join(',')
