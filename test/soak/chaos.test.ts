import { test } from 'vitest'
import { runChaos } from '../support/chaos/run-chaos.js'

test('ten minutes in which brokers and runners die and connections break, from three brokers to three, end with equal logs', async () => {
  await runChaos({
    name: 'long chaos',
    durationMs: Number(process.env.CHAOS_SECONDS ?? 600) * 1_000,
    brokers: { source: 3, destination: 3 },
    versions: { source: '3.9.1', destination: '4.4.0' },
    runners: 3,
  })
})
