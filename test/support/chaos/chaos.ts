import { setTimeout as pause } from 'node:timers/promises'
import { Produce, WriteTxnMarkers } from '../../../src/protocol/index.js'
import type { Mirroring } from '../mirroring.js'
import type { RunnerProcess } from '../runner-process.js'
import { type Action, type Planned, type SideName, textOf } from './plan.js'
import { CHAOS_TOPICS } from './producers.js'
import type { ProxiedCluster } from './proxied-cluster.js'

/** Carries out a plan: whatever can happen to brokers, runners and the connections between them. */
export class Chaos {
  /** What was done, and when, for a failing test. */
  readonly history: string[] = []
  private readonly slots: (RunnerProcess | undefined)[] = []
  private readonly starting = new Map<ProxiedCluster, Promise<void>>()
  private readonly begun = performance.now()

  constructor(
    private readonly sides: Readonly<Record<SideName, ProxiedCluster>>,
    private readonly mirroring: Mirroring,
  ) {}

  async run(plan: readonly Planned[]): Promise<void> {
    let { begun } = this
    for (const { at, action } of plan) {
      const wait = begun + at - performance.now()
      if (wait > 0) await pause(wait)
      // What takes long puts all off that follows: things done at once would not meet what they are meant to.
      else begun -= wait
      await this.act(action)
    }
  }

  /** Ends everything that was begun: all brokers and the first runner up, all connections as they should be. */
  async heal(): Promise<void> {
    this.note('all heals')
    for (const cluster of Object.values(this.sides)) {
      await this.starting.get(cluster)
      for (const proxy of cluster.proxies) {
        proxy.judge = () => 'forward'
        proxy.delayMs = 0
        proxy.resume()
        // What was delayed may be overtaken by what is not.
        proxy.cut()
      }
      await Promise.all(cluster.brokers.map((broker) => broker.start()))
    }
    for (const runner of this.slots) runner?.thaw()
    await this.startRunner(0)
    this.note('all is healed')
  }

  /** How a failure is had again, and what led to it. */
  text(): string {
    return this.history.join('\n')
  }

  private note(line: string): void {
    this.history.push(`${((performance.now() - this.begun) / 1_000).toFixed(2).padStart(8)} s  ${line}`)
  }

  private async act(action: Action): Promise<void> {
    this.note(textOf(action))
    try {
      await this.perform(action)
    } catch (error) {
      // A leader that can't be moved, for one: the chaos has been there already.
      this.note(`  … ${error instanceof Error ? error.message.split('\n')[0] : error}`)
    }
  }

  private async perform(action: Action): Promise<void> {
    if ('runner' in action) return this.performOnRunner(action)
    const cluster = this.sides[action.side]
    switch (action.kind) {
      case 'kill-broker':
      case 'stop-broker': {
        // One at a time: of three, two must be there for anything to go on.
        if (this.starting.has(cluster)) throw new Error('another one is not up yet')
        const broker = cluster.brokers[action.node - 1]!
        return action.kind === 'kill-broker' ? broker.kill() : broker.stop(5_000)
      }
      case 'start-broker': {
        const broker = cluster.brokers[action.node - 1]!
        if (broker.running) return
        const started = broker
          .start()
          .then(() => this.note(`  ${action.side} broker ${action.node} is up`))
          .catch((error: Error) => this.note(`  … ${error.message}`))
          .finally(() => this.starting.delete(cluster))
        this.starting.set(cluster, started)
        return
      }
      case 'move-leader':
        return this.moveLeader(cluster, action)
      case 'cut':
        for (const proxy of cluster.proxies) proxy.cut()
        return
      case 'stall':
        for (const proxy of cluster.proxies) proxy.stall()
        return
      case 'resume':
        for (const proxy of cluster.proxies) proxy.resume()
        return
      case 'delay':
      case 'undelay':
        for (const proxy of cluster.proxies) {
          proxy.delayMs = action.kind === 'delay' ? action.milliseconds : 0
          // What is under way must not be overtaken.
          proxy.cut()
        }
        return
      case 'lose-answers': {
        let answers = 0
        const isLost = (apiKey: number) =>
          (apiKey === Produce.key || apiKey === WriteTxnMarkers.key || action.side === 'source') && ++answers % action.every === 0
        for (const proxy of cluster.proxies) proxy.judge = (apiKey) => (isLost(apiKey) ? 'cut' : 'forward')
        return
      }
      case 'keep-answers':
        for (const proxy of cluster.proxies) proxy.judge = () => 'forward'
    }
  }

  private async moveLeader(cluster: ProxiedCluster, { node, pick }: { node: number; pick: number }): Promise<void> {
    const all = CHAOS_TOPICS.flatMap(({ topic, partitions }) =>
      Array.from({ length: partitions }, (_, partition) => ({ topic, partition })),
    )
    const { topic, partition } = all[pick % all.length]!
    // It waits for brokers that are gone; the chaos does not.
    await Promise.race([cluster.admin.moveLeader(topic, partition, node), pause(2_000)])
  }

  private async performOnRunner({ kind, runner }: Extract<Action, { runner: number }>): Promise<void> {
    const running = this.slots[runner]?.running ? this.slots[runner] : undefined
    switch (kind) {
      case 'start-runner':
        return this.startRunner(runner)
      case 'kill-runner':
        return running?.kill()
      case 'stop-runner':
        // It may take its time while brokers are down, and is killed then.
        await running?.stop(3_000)
        return
      case 'freeze-runner':
        return running?.freeze()
      case 'thaw-runner':
        return running?.thaw()
    }
  }

  private async startRunner(slot: number): Promise<void> {
    if (this.slots[slot]?.running) return
    this.slots[slot] = this.mirroring.spawnRunner({ bootstrap: this.sides.destination.proxied })
  }
}
