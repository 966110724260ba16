import { fileURLToPath } from 'node:url'
import { Child } from './child.js'
import { startMirrorMaker } from './mirror-maker.js'
import { startOurs } from './ours.js'
import type { Tools } from './tools.js'

export const PEER_NAMES = ['ours', 'before', 'franz-go', 'mm2', 'ceiling'] as const
export type PeerName = (typeof PEER_NAMES)[number]

/** One copy of one topic, from a full source to an empty destination topic. */
export interface CopyJob {
  readonly source: string
  readonly destination: string
  readonly topic: string
  readonly partitions: number
  readonly compression: 'none' | 'lz4'
  /** Unlike that of any other job of this run. */
  readonly label: string
  /** Low latency instead of throughput, where the peer makes a difference. */
  readonly latency?: boolean
  /** Write a CPU profile of the process into this folder (ours only). */
  readonly profileDir?: string
}

export interface RunningPeer {
  readonly child: Child
  /** Lets go of the topic and ends the process. */
  stop(): Promise<void>
}

export interface Peer {
  /** Creates the destination's topic itself. */
  readonly createsTopic?: boolean
  /** Its memory holds the whole workload by design. */
  readonly prefetches?: boolean
  /** Too slow to be run in every round. */
  readonly onceOnly?: boolean
  start(job: CopyJob, tools: Tools): Promise<RunningPeer>
}

const CEILING = fileURLToPath(new URL('./ceiling-child.ts', import.meta.url))

export const PEERS: Readonly<Record<PeerName, Peer>> = {
  ours: { createsTopic: true, start: startOurs },
  before: { createsTopic: true, start: (job, tools) => startOurs(job, tools, tools.before) },
  'franz-go': {
    async start(job, { franzGo }) {
      const flags = ['--source', job.source, '--destination', job.destination, '--topic', job.topic, '--compression', job.compression]
      const child = Child.start('franz-go', franzGo, ['mirror', ...flags, '--linger', job.latency ? '0' : '10'])
      return { child, stop: () => child.stop() }
    },
  },
  mm2: { onceOnly: true, start: startMirrorMaker },
  ceiling: {
    prefetches: true,
    async start(job) {
      const args = ['--import', import.meta.resolve('tsx'), CEILING, job.source, job.destination, job.topic, String(job.partitions)]
      const child = Child.start('ceiling', process.execPath, args)
      return { child, stop: () => child.stop() }
    },
  },
}
