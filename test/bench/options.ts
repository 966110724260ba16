import { parseArgs } from 'node:util'
import { PEER_NAMES, type PeerName } from './peers.js'
import { WORKLOADS } from './workloads.js'

export const PARTS = [...WORKLOADS.map((w) => w.name), 'latency', 'idle', 'list', 'verify'] as const

export interface BenchOptions {
  /** Parts to run: workloads by name, `latency`, `idle`, `list`, `verify`. */
  readonly only: readonly string[]
  readonly peers: readonly PeerName[]
  /** A checkout of an earlier commit, built, that is one of the peers; undefined: none. */
  readonly before: string | undefined
  readonly rounds: number
  /** Instead of each workload's own number. */
  readonly records: number | undefined
  readonly seconds: number
  readonly profile: boolean
  /** Where CPU profiles are kept; undefined: thrown away. */
  readonly keep: string | undefined
  readonly json: boolean
}

export const USAGE = `npm run bench -- [flags]
  --only NAME,…     of ${PARTS.join(', ')} (default: all)
  --peers NAME,…    of ${PEER_NAMES.join(', ')} (default: all)
  --before DIR      a built checkout of an earlier commit, which takes turns with the others
  --rounds N        peers take turns N times, medians are shown; mm2 runs in the first only (default 3)
  --records N       instead of each workload's own number
  --seconds N       of each latency rate and of the idle runner (default 10)
  --no-profile      without the extra pass that shows whose CPU time ours is
  --keep DIR        keeps the CPU profiles there, one folder a workload
  --json            one JSON object on stdout`

/** @throws Error with a sentence */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true },
      peers: { type: 'string', multiple: true },
      before: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      records: { type: 'string' },
      seconds: { type: 'string', default: '10' },
      'no-profile': { type: 'boolean', default: false },
      keep: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return undefined
  if (values.before === undefined && values.peers?.some((list) => list.split(',').includes('before')))
    throw new Error("--peers: 'before' needs --before DIR")
  const peers = chosen('--peers', values.peers, PEER_NAMES)
  return {
    only: chosen('--only', values.only, PARTS),
    peers: peers.filter((peer) => peer !== 'before' || values.before !== undefined),
    before: values.before,
    rounds: positive('--rounds', values.rounds),
    records: values.records === undefined ? undefined : positive('--records', values.records),
    seconds: positive('--seconds', values.seconds),
    profile: !values['no-profile'],
    keep: values.keep,
    json: values.json,
  }
}

function chosen<T extends string>(flag: string, given: readonly string[] | undefined, known: readonly T[]): readonly T[] {
  const names = (given ?? []).flatMap((list) => list.split(','))
  const unknown = names.find((name) => !(known as readonly string[]).includes(name))
  if (unknown !== undefined) throw new Error(`${flag}: there is no '${unknown}'; there are ${known.join(', ')}`)
  return names.length === 0 ? known : known.filter((name) => names.includes(name))
}

function positive(flag: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`${flag}: '${text}' is not a whole number above 0`)
  return value
}
