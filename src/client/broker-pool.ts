import { type BrokerAddress, formatAddress } from './address.js'
import type { Backoff, ClientConfig } from './config.js'
import type { Connection, Open, OpenOptions } from './connection.js'
import { type Clock, fullJitter } from './retry.js'

interface Slot {
  opening: Promise<Connection> | undefined
  connection: Connection | undefined
  /** Failed attempts since the last success. */
  failures: number
  /** No attempt before this time (`clock.now()`). */
  notBefore: number
  /** Whether it ever worked. */
  proven: boolean
}

/**
 * One shared connection per key, opened when first wanted and again after it is lost. However many callers want it,
 * there is one attempt at a time, and attempts are spaced by jittered back-off.
 */
export class BrokerPool {
  private readonly slots = new Map<string, Slot>()

  constructor(
    private readonly open: Open,
    private readonly clock: Clock,
    private readonly backoff: Backoff,
    private readonly signal: AbortSignal,
  ) {}

  /** @throws ConnectionError */
  get(lane: string, address: BrokerAddress, config: ClientConfig, options: OpenOptions): Promise<Connection> {
    const slot = this.slot(lane, address)
    if (slot.connection?.open) return Promise.resolve(slot.connection)
    slot.opening ??= this.attempt(slot, () => this.open(address, config, options)).then(
      (connection) => {
        slot.opening = undefined
        slot.connection = connection
        return connection
      },
      (error) => {
        slot.opening = undefined
        throw error
      },
    )
    return slot.opening
  }

  /** A connection of the caller's own; spaced by the same back-off as the shared one. */
  dedicated(address: BrokerAddress, config: ClientConfig, options: OpenOptions): Promise<Connection> {
    return this.attempt(this.slot('shared', address), () => this.open(address, config, options))
  }

  /** Whether a connection to this address has ever worked. */
  proven(address: BrokerAddress): boolean {
    return this.slots.get(keyOf('shared', address))?.proven ?? false
  }

  /** An open shared connection of the lane, if there is one. */
  anyOpen(lane: string): Connection | undefined {
    for (const [key, { connection }] of this.slots) {
      if (key.startsWith(`${lane}@`) && connection?.open) return connection
    }
    return undefined
  }

  /** Forgets all connections; those under way are answered first. */
  retire(): void {
    for (const { connection } of this.slots.values()) connection?.retire()
    this.slots.clear()
  }

  async close(): Promise<void> {
    const slots = [...this.slots.values()]
    this.slots.clear()
    await Promise.all(slots.flatMap(({ connection, opening }) => [connection?.close(), opening?.then((c) => c.close()).catch(() => {})]))
  }

  private slot(lane: string, address: BrokerAddress): Slot {
    const key = keyOf(lane, address)
    let slot = this.slots.get(key)
    if (slot === undefined) {
      slot = { opening: undefined, connection: undefined, failures: 0, notBefore: 0, proven: false }
      this.slots.set(key, slot)
    }
    return slot
  }

  private async attempt(slot: Slot, open: () => Promise<Connection>): Promise<Connection> {
    const wait = slot.notBefore - this.clock.now()
    if (wait > 0) await this.clock.sleep(wait, this.signal)
    try {
      const connection = await open()
      slot.failures = 0
      slot.notBefore = 0
      slot.proven = true
      return connection
    } catch (error) {
      slot.notBefore = this.clock.now() + fullJitter(slot.failures++, this.backoff, () => this.clock.random())
      throw error
    }
  }
}

const keyOf = (lane: string, address: BrokerAddress) => `${lane}@${formatAddress(address)}`
