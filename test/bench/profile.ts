import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The part of Chrome's .cpuprofile format that is needed here. */
interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly functionName: string; readonly url: string } }[]
  readonly samples: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

/** Where a frame belongs, first match wins. */
const OWNERS: readonly (readonly [owner: string, pattern: RegExp])[] = [
  ['kafkajs', /node_modules\/kafkajs\//],
  ['crc', /node_modules\/@node-rs\/|\/src\/records\/crc\./],
  ['src/records', /\/src\/records\//],
  ['src/protocol', /\/src\/protocol\//],
  ['src/client', /\/src\/client\//],
  ['src/engine', /\/src\/engine\//],
  ['other rooms', /\/(dist|src|commands|bin)\//],
  ['node: net and streams', /^node:(net|internal\/(stream|streams|js_stream|process\/task_queues|async_hooks|timers)|_stream|timers)/],
  ['node: buffer', /^node:(buffer|internal\/buffer)/],
  ['node: the rest', /^node:/],
  ['other modules', /node_modules\//],
]

export interface ProfileShare {
  readonly owner: string
  readonly percent: number
}

/** Self time by owner, idle time left out, of the profile that a process wrote into `folder`. */
export function sharesOf(folder: string): ProfileShare[] {
  const file = readdirSync(folder).find((name) => name.endsWith('.cpuprofile'))
  if (file === undefined) throw new Error(`no CPU profile in ${folder}: did the process leave in order?`)
  return sharesOfProfile(JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile)
}

export function sharesOfProfile(profile: CpuProfile): ProfileShare[] {
  const ownerOf = new Map(profile.nodes.map(({ id, callFrame }) => [id, owner(callFrame.functionName, callFrame.url)]))
  const times = new Map<string, number>()
  profile.samples.forEach((id, i) => {
    const name = ownerOf.get(id)
    if (name !== undefined) times.set(name, (times.get(name) ?? 0) + profile.timeDeltas[i]!)
  })
  const total = [...times.values()].reduce((a, b) => a + b, 0)
  return [...times].map(([name, time]) => ({ owner: name, percent: (100 * time) / total })).sort((a, b) => b.percent - a.percent)
}

function owner(functionName: string, url: string): string | undefined {
  if (functionName === '(idle)') return undefined
  if (functionName === '(garbage collector)') return 'garbage collector'
  return OWNERS.find(([, pattern]) => pattern.test(url))?.[0] ?? 'native (system calls)'
}
