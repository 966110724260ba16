import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { mirrorConfigOf } from '../../src/mirror/config.js'
import { put } from '../../src/mirror/spec-store.js'
import type { TopicSpec } from '../../src/mirror/state.js'
import { StateStore } from '../../src/service/state-store.js'
import { ACLS_LOOP, releaseAcls } from '../../src/sync/acls/index.js'
import type { SyncContext, SyncReport } from '../../src/sync/types.js'
import { type Acl, KafkaAdmin } from './kafka-admin.js'
import { KafkaWorker } from './kafka-worker.js'
import { javaClientProperties, type SecuredBroker, type SecuredOptions, startSecuredBroker, type USERS } from './secured-broker.js'
import { eventually } from './wait.js'
import { writeLog } from './write-log.js'

export type User = keyof typeof USERS

/** Both sides with an authorizer (3.9.1 and 4.4.0), and Kafka's own clients. The caller closes it. */
export async function startSecuredClusters(options: { readonly destination?: SecuredOptions } = {}) {
  const worker = await KafkaWorker.start()
  const starting = [
    startSecuredBroker({ version: '3.9.1', authorizer: true }),
    startSecuredBroker({ version: '4.4.0', authorizer: true, ...options.destination }),
  ] as const
  await Promise.allSettled(starting)
  const source = new SecuredCluster(await starting[0], worker)
  const destination = new SecuredCluster(await starting[1], worker)
  const close = async () => {
    await Promise.all([source.close(), destination.close(), worker.close()])
  }
  return { source, destination, worker, rounds: new AclRounds(source.as(), destination.as()), close }
}

/** A cluster with an authorizer: what is done to it, and its rules as Kafka's own admin client lists them. */
export class SecuredCluster {
  readonly admin: KafkaAdmin
  private readonly clusters = new Map<string, Cluster>()

  constructor(
    readonly broker: SecuredBroker,
    private readonly worker: KafkaWorker,
  ) {
    this.admin = new KafkaAdmin(worker, { bootstrap: broker.bootstrap('PLAINTEXT') })
  }

  /** Our own client, logged in as `admin` (a super user) unless told. */
  as(user: User = 'admin'): Cluster {
    const properties = new Map([['bootstrap.servers', this.broker.bootstrap('SASL_PLAINTEXT')], ...Object.entries(this.login(user))])
    const cluster = this.clusters.get(user) ?? new Cluster(clientConfigOf(properties).config)
    this.clusters.set(user, cluster)
    return cluster
  }

  /** What reaches it with a login, as users write it. */
  login(user: User): Record<string, string> {
    return javaClientProperties(this.broker.files, 'SASL_PLAINTEXT', { user })
  }

  /** Adds rules, spelled as {@link KafkaAdmin.acls} lists them, and waits until the broker goes by them. */
  async grant(...rules: readonly string[]): Promise<void> {
    await Promise.all(rules.map((rule) => this.admin.addAcl(aclOf(rule))))
    await eventually(async () => {
      const known = await this.admin.acls()
      return rules.every((rule) => known.includes(rule))
    })
  }

  async revoke(rule: string): Promise<void> {
    await this.admin.removeAcl(aclOf(rule))
    await eventually(async () => !(await this.admin.acls()).includes(rule))
  }

  /** The rules on resources whose names begin so. */
  async rulesOn(prefix: string): Promise<string[]> {
    return (await this.admin.acls()).filter((rule) => rule.split(' ')[4]!.startsWith(prefix))
  }

  /** One record with Kafka's own producer. */
  async write(user: User, topic: string): Promise<void> {
    const properties = { ...this.login(user), 'max.block.ms': '5000' }
    await writeLog(this.worker, { bootstrap: this.broker.bootstrap('SASL_PLAINTEXT'), properties }, { topic, records: 1 })
  }

  async close(): Promise<void> {
    await Promise.all([...this.clusters.values()].map((cluster) => cluster.close()))
    await this.broker.close()
  }
}

function aclOf(text: string): Acl {
  const [permission, operation, resourceType, patternType, resource, principal, host] = text.split(' ')
  const fields = { operation, resourceType, resource, principal, host } as Required<Omit<Acl, 'permission' | 'patternType'>>
  return { ...fields, permission: permission as 'ALLOW' | 'DENY', patternType: patternType as 'LITERAL' | 'PREFIXED' }
}

/** Rounds of the loop without a runner, on mirrors as commands would have left them. */
export class AclRounds {
  readonly store: StateStore

  constructor(
    private readonly source: Cluster,
    private readonly destination: Cluster,
  ) {
    this.store = new StateStore(destination)
  }

  /** Sets where topics of a mirror are; creates the mirror. */
  async topics(mirror: string, topics: Readonly<Record<string, TopicSpec['desired']>>): Promise<void> {
    await this.store.update((state) => ({
      records: [
        ...(state.mirror(mirror) === undefined ? [put({ kind: 'mirror', mirror }, { sourceClusterId: undefined, createdAt: 1 })] : []),
        ...Object.entries(topics).map(([topic, desired]) => put({ kind: 'topic', mirror, topic }, spec(desired))),
      ],
      result: undefined,
    }))
  }

  async run(
    mirror: string,
    { include = '*', from = this.source, to = this.destination }: { include?: string; from?: Cluster; to?: Cluster } = {},
  ): Promise<SyncReport> {
    const state = await this.store.read()
    const context: SyncContext = {
      mirror,
      source: from,
      destination: to,
      store: this.store,
      admission: { checkRights: async () => {}, checkExisting: () => Promise.reject(new Error('no topic is added here')) },
      state: () => state,
      config: () => mirrorConfigOf(new Map([['mirror.acl.include', include]])),
      now: Date.now,
      ownsShard: () => true,
    }
    return ACLS_LOOP.run({ ...context, connect: async () => context })
  }

  /** What a removal does for the rules of a topic. */
  async release(
    mirror: string,
    topic: string,
    options: { readonly destination?: Cluster; readonly patienceMs?: number } = {},
  ): Promise<readonly string[]> {
    return (await releaseAcls({ destination: this.destination, store: this.store, mirror, topic, ...options })).warnings
  }
}

const spec = (desired: TopicSpec['desired']): TopicSpec => ({
  desired,
  sourceTopicId: '',
  destinationTopicId: '',
  partitions: 1,
  producers: [{ id: 1n, epoch: 0 }],
  held: {},
  addedAt: 1,
})
