import type { AclBinding } from '../../src/client/admin-acls.js'
import type { Cluster } from '../../src/client/cluster.js'
import { ConnectionError } from '../../src/client/errors.js'
import { MirrorState } from '../../src/mirror/fold.js'
import type { SpecStore } from '../../src/mirror/spec-store.js'

/** Numbers on the wire, for the names these tests use. */
const NUMBERS: Readonly<Record<string, number>> = {
  ...{ TOPIC: 2, GROUP: 3, CLUSTER: 4, TRANSACTIONAL_ID: 5, LITERAL: 3, PREFIXED: 4, DENY: 2, ALLOW: 3 },
  ...{ ALL: 2, READ: 3, WRITE: 4, CREATE: 5, DELETE: 6, ALTER: 7, DESCRIBE: 8, DESCRIBE_CONFIGS: 10, ALTER_CONFIGS: 11 },
}

/** A rule as requests spell it, whatever they call the fields. */
const keyOf = (fields: readonly (string | number)[]): string => fields.map((field) => NUMBERS[field] ?? field).join(' ')

export const keyOfBinding = (it: AclBinding): string =>
  keyOf([it.resourceType, it.resourceName, it.patternType, it.principal, it.host, it.operation, it.permission])

type Fields = Readonly<Record<string, string | number>>

/** One cluster whose authorizer holds rules in memory. `failAt`: the request, counted from now, whose connection breaks. */
export class ModelAuthorizer {
  readonly rules = new Map<string, Fields>()
  superUser = true
  /** What has no rules is open to everybody. */
  openByDefault = false
  /** What was asked to change. */
  changes = 0
  /** Who asks, as rules that deny this principal something on a topic take that from it. */
  principal = 'User:runner'
  /** Awaited before each request is carried out, and after that, before it is answered. */
  moment: (api: string) => Promise<void> = async () => {}
  /** Requests that are refused. */
  refuses: (api: string) => boolean = () => false
  /** Why: Kafka's code; CLUSTER_AUTHORIZATION_FAILED unless told. */
  refusal = 31
  /** What a second broker of the cluster does with a request: it is out of reach. */
  outOfReach: (() => Promise<never>) | undefined
  private requests = 0
  private failAt = Number.POSITIVE_INFINITY

  /** The nth request from now breaks before or after it was carried out. */
  breakAt(nth: number): void {
    this.requests = 0
    this.failAt = nth
  }

  mend(): void {
    this.failAt = Number.POSITIVE_INFINITY
  }

  set(bindings: readonly AclBinding[]): void {
    this.rules.clear()
    for (const binding of bindings) this.add(binding)
  }

  add(it: AclBinding): void {
    const number = (name: string) => NUMBERS[name]!
    this.rules.set(keyOfBinding(it), {
      resourceType: number(it.resourceType),
      patternType: number(it.patternType),
      resourceName: it.resourceName,
      principal: it.principal,
      host: it.host,
      operation: number(it.operation),
      permissionType: number(it.permission),
    })
  }

  remove(it: AclBinding): void {
    this.rules.delete(keyOfBinding(it))
  }

  has = (binding: AclBinding): boolean => this.rules.has(keyOfBinding(binding))

  keys = (): string[] => [...this.rules.keys()].sort()

  get cluster(): Cluster {
    const send = async (api: { name: string }, request: Record<string, Fields[]>) => {
      await this.moment(api.name)
      const answer = this.answer(api.name, request)
      await this.moment(api.name)
      return answer
    }
    const model = {
      any: send,
      controller: send,
      broker: (id: number, api: { name: string }, request: Record<string, Fields[]>) =>
        id === 2 ? this.outOfReach!() : send(api, request),
      coordinator: (_kind: string, _key: string, api: { name: string }, request: Record<string, Fields[]>) => send(api, request),
      brokers: async () => (this.outOfReach === undefined ? [{ id: 1 }] : [{ id: 1 }, { id: 2 }]),
    }
    return model as unknown as Cluster
  }

  private answer(api: string, request: Record<string, Fields[]>): unknown {
    const breaks = ++this.requests >= this.failAt
    const lost = new ConnectionError({ kind: 'timeout', address: { host: 'model', port: 1 }, reason: 'the model breaks here' })
    if (breaks && this.requests % 2 === 0) throw lost
    const answer = this.carryOut(api, request)
    if (breaks) throw lost
    return answer
  }

  private carryOut(api: string, request: Record<string, Fields[]>): unknown {
    const done = { errorCode: 0, errorMessage: null }
    if (this.refuses(api)) {
      const refused = { errorCode: this.refusal, errorMessage: 'refused', matchingAcls: [] }
      const refusals = [...(request.creations ?? request.filters ?? [])].map(() => refused)
      return { errorCode: this.refusal, errorMessage: 'refused', resources: [], results: refusals, filterResults: refusals }
    }
    switch (api) {
      case 'DescribeAcls': {
        const resources = [...this.rules.values()].map(({ resourceType, patternType, resourceName, ...acl }) => ({
          resourceType,
          patternType,
          resourceName,
          acls: [acl],
        }))
        return { ...done, resources }
      }
      case 'CreateAcls':
        for (const it of request.creations!) {
          const { resourcePatternType: patternType, ...others } = it
          const { resourceType, resourceName, principal, host, operation, permissionType } = others as Fields
          this.changes++
          this.rules.set(keyOf([resourceType!, resourceName!, patternType!, principal!, host!, operation!, permissionType!]), {
            ...others,
            patternType: patternType!,
          })
        }
        return { results: request.creations!.map(() => done) }
      case 'DeleteAcls':
        for (const it of request.filters!) {
          this.changes++
          const resource = [it.resourceTypeFilter!, it.resourceNameFilter!, it.patternTypeFilter!]
          this.rules.delete(keyOf([...resource, it.principalFilter!, it.hostFilter!, it.operation!, it.permissionType!]))
        }
        return { filterResults: request.filters!.map(() => ({ ...done, matchingAcls: [] })) }
      case 'DescribeCluster':
        return { ...done, clusterAuthorizedOperations: -1 >>> 1 }
      case 'DescribeGroups':
        return { groups: [{ errorCode: 0, authorizedOperations: this.superUser ? 0xffff : 0 }] }
      case 'DescribeConfigs': {
        const configs = this.openByDefault
          ? [{ name: 'allow.everyone.if.no.acl.found', value: null, configSource: 4, isSensitive: true }]
          : []
        return { results: request.resources!.map((resource) => ({ ...done, ...resource, configs })) }
      }
      case 'Metadata':
        return { topics: request.topics!.map(({ name }) => ({ name, errorCode: 0, topicAuthorizedOperations: this.rightsOn(name!) })) }
    }
    throw new Error(`${api} is not expected`)
  }

  private rightsOn(topic: string | number): number {
    const bind = (it: Fields) => it.resourceName === topic && it.principal === this.principal && it.permissionType === NUMBERS.DENY
    return [...this.rules.values()].some(bind) ? 0 : 0xffff
  }
}

/** The state topic's spec partition in memory. */
export class ModelStore implements SpecStore {
  private readonly records = new Map<string, string>()
  /** Awaited before each change is decided on, and after it is written. */
  moment: () => Promise<void> = async () => {}

  get state(): MirrorState {
    return MirrorState.of([...this.records].map(([key, value]) => ({ key, value })))
  }

  async update<T>(decide: (state: MirrorState) => { records: readonly { key: string; value: string | null }[]; result: T }): Promise<T> {
    await this.moment()
    const { records, result } = decide(this.state)
    for (const { key, value } of records) value === null ? this.records.delete(key) : this.records.set(key, value)
    await this.moment()
    return result
  }
}
