import type { Cluster } from '../client/cluster.js'
import { clientPropertiesOf } from '../mirror/config.js'
import type { MirrorState } from '../mirror/fold.js'
import type { ByteBudget } from './byte-budget.js'
import { SourceLink } from './source-link.js'
import type { SourceTrouble } from './source-trouble.js'

export interface SourcesPort {
  readonly state: MirrorState
  readonly budget: ByteBudget
  readonly trouble: SourceTrouble
  /** A client for a mirror's source. Throws when its properties are wrong. */
  open(mirror: string, properties: ReadonlyMap<string, string>): Cluster
  /** What is at work for a mirror. */
  atWork(mirror: string): Iterable<{ relink(reason: string): void; note(message: string): Promise<void> }>
}

/** The links to the sources of the mirrors that are served, one each. */
export class Sources {
  private readonly links = new Map<string, { readonly fingerprint: string; readonly link: SourceLink }>()

  constructor(private readonly port: SourcesPort) {}

  /** Names of the mirrors whose source is open. */
  get mirrors(): Iterable<string> {
    return this.links.keys()
  }

  /** Undefined while the source is not needed or cannot be opened. */
  linkOf(mirror: string): SourceLink | undefined {
    return this.links.get(mirror)?.link
  }

  /** Opens what is needed, closes what is not, and moves partitions over where the source's properties changed. */
  reconcile(needed: ReadonlySet<string>): void {
    for (const mirror of needed) this.reconcileOne(mirror)
    for (const [mirror, { link }] of this.links) {
      if (needed.has(mirror)) continue
      this.links.delete(mirror)
      void link.close()
    }
    this.port.trouble.keep(needed)
  }

  private reconcileOne(mirror: string): void {
    const { state, trouble } = this.port
    const entry = state.mirror(mirror)
    if (entry === undefined) return
    const properties = clientPropertiesOf(entry.configs)
    const fingerprint = JSON.stringify([entry.spec.sourceClusterId, ...[...properties].sort(([a], [b]) => (a < b ? -1 : 1))])
    const current = this.links.get(mirror)
    if (current?.fingerprint === fingerprint) {
      // What could not be used was taken back.
      if (trouble.over(mirror)) this.relink(mirror, 'the source’s properties are what they were')
      return
    }
    try {
      const link = new SourceLink(mirror, this.port.open(mirror, properties), entry.spec.sourceClusterId, this.port.budget)
      this.links.set(mirror, { fingerprint, link })
    } catch (error) {
      this.refused(mirror, error instanceof Error ? error.message : String(error))
      return
    }
    trouble.over(mirror)
    this.relink(mirror, 'the source’s properties changed')
    void current?.link.close()
  }

  /** Partitions at work go on as they are; the others cannot begin. */
  private refused(mirror: string, message: string): void {
    if (!this.port.trouble.begins(mirror, message)) return
    for (const partition of this.port.atWork(mirror)) void partition.note(`new properties of the source: ${message}`)
  }

  private relink(mirror: string, reason: string): void {
    for (const partition of this.port.atWork(mirror)) partition.relink(reason)
  }

  async close(): Promise<void> {
    await Promise.all([...this.links.values()].map(({ link }) => link.close()))
  }
}
