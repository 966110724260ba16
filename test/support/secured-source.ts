import { afterAll, beforeAll } from 'vitest'
import { type TestBroker, type TestBrokers, useBroker } from './brokers.js'
import { KafkaAdmin } from './kafka-admin.js'
import { DESTINATION_PROPERTIES } from './mirroring.js'
import { type SecuredBroker, startSecuredBroker } from './secured-broker.js'

/** A source with logins, whose sessions end soon so that a password that no longer holds is found out. */
export interface SecuredSource extends TestBrokers {
  /** The source's listeners. */
  readonly secured: SecuredBroker
}

/** Starts both clusters before the tests of a file and stops them after. The result is filled once the tests run. */
export function useSecuredSource(): SecuredSource {
  const destination = useBroker({ properties: DESTINATION_PROPERTIES })
  let secured: SecuredBroker
  let source: TestBroker
  beforeAll(async () => {
    secured = await startSecuredBroker({ version: '3.9.1', reauthenticateMs: 2_000 })
    const bootstrap = secured.bootstrap('PLAINTEXT')
    source = { broker: secured.broker, bootstrap, admin: new KafkaAdmin(destination.worker, { bootstrap }) }
  })
  afterAll(() => secured?.close())
  return {
    destination,
    get source() {
      return source
    },
    get secured() {
      return secured
    },
    get worker() {
      return destination.worker
    },
  }
}
