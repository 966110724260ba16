import { test } from 'vitest'
import { runChaos } from '../support/chaos/run-chaos.js'

test('a minute in which brokers and runners die and connections break, from three brokers to one, ends with equal logs', async () => {
  await runChaos({
    name: 'chaos',
    durationMs: 60_000,
    brokers: { source: 3, destination: 1 },
    versions: { source: '3.9.1', destination: '4.4.0' },
    runners: 2,
  })
}, 300_000)
