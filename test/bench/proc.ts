import { readdirSync, readFileSync } from 'node:fs'

/** Kernel ticks a second; USER_HZ is 100 on every Linux that Node runs on. */
const TICKS = 100

export interface Usage {
  /** User and system time of the process and its descendants that are alive, in seconds. */
  readonly cpuSeconds: number
  /** Sum of each one's highest resident size so far, in MiB. */
  readonly peakRssMb: number
}

/** What a process and its descendants have used, from /proc (Linux only). */
export function usageOf(pid: number): Usage {
  let cpuSeconds = 0
  let peakRssMb = 0
  for (const each of treeOf(pid)) {
    cpuSeconds += cpuSecondsOf(each)
    peakRssMb += Number(/VmHWM:\s+(\d+)/.exec(read(`/proc/${each}/status`) ?? '')?.[1] ?? 0) / 1024
  }
  return { cpuSeconds, peakRssMb }
}

/** User and system time of one process alone; cheap enough to be asked all the time. 0 once it is gone. */
export function cpuSecondsOf(pid: number): number {
  const fields = statOf(pid)
  return fields === undefined ? 0 : (Number(fields[11]) + Number(fields[12])) / TICKS
}

function treeOf(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? Number(statOf(Number(name))?.[1]) : Number.NaN
    if (!Number.isNaN(parent)) children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const tree = [root]
  for (let i = 0; i < tree.length; i++) tree.push(...(children.get(tree[i]!) ?? []))
  return tree
}

/** Fields of /proc/PID/stat from the state on: the name before it may hold anything. */
const statOf = (pid: number) =>
  read(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ')

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
