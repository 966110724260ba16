import { type BrokerOptions, type KafkaBroker, startCluster } from '../../../src/playground/kafka-broker.js'
import type { TestBroker } from '../brokers.js'
import { KafkaAdmin } from '../kafka-admin.js'
import { type KafkaWorker, TEST_ENV } from '../kafka-worker.js'
import { TcpProxy } from '../proxy.js'

/** The controller forgets a killed broker sooner, and lets it come back. */
const QUICK_RETURN = { 'broker.session.timeout.ms': '3000', 'broker.heartbeat.interval.ms': '500' }

/** A cluster with two ways to every broker: directly, for the test, and through a proxy each, for the runners. */
export class ProxiedCluster implements TestBroker {
  private constructor(
    readonly brokers: readonly KafkaBroker[],
    readonly proxies: readonly TcpProxy[],
    readonly admin: KafkaAdmin,
  ) {}

  static async start(worker: KafkaWorker, options: BrokerOptions & { readonly brokers: number }): Promise<ProxiedCluster> {
    const proxies = await Promise.all(Array.from({ length: options.brokers }, () => TcpProxy.listen()))
    // From the first connection on, so that each may be judged later.
    for (const proxy of proxies) proxy.judge = () => 'forward'
    try {
      const brokers = await startCluster({
        env: TEST_ENV,
        ...options,
        properties: { ...QUICK_RETURN, ...options.properties },
        listeners: [
          { name: 'DIRECT', protocol: 'PLAINTEXT' },
          { name: 'PROXIED', protocol: 'PLAINTEXT' },
        ],
        advertised: (nodeId, listener) => (listener === 'PROXIED' ? proxies[nodeId - 1]!.address : undefined),
      })
      for (const [i, proxy] of proxies.entries()) proxy.target = brokers[i]!.listeners[1]
      const bootstrap = brokers.map((broker) => broker.bootstrap).join(',')
      return new ProxiedCluster(brokers, proxies, new KafkaAdmin(worker, { bootstrap }))
    } catch (error) {
      await Promise.all(proxies.map((proxy) => proxy.close()))
      throw error
    }
  }

  get broker(): KafkaBroker {
    return this.brokers[0]!
  }

  /** The ways around the proxies. */
  get bootstrap(): string {
    return this.brokers.map(({ bootstrap }) => bootstrap).join(',')
  }

  /** The ways through them. */
  get proxied(): string {
    return this.proxies.map(({ address }) => address).join(',')
  }

  async close(): Promise<void> {
    await Promise.all([...this.proxies.map((proxy) => proxy.close()), ...this.brokers.map((broker) => broker.close())])
  }
}
