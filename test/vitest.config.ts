import { defineConfig } from 'vitest/config'
import { LongestFirst } from './support/sequencer.js'

const common = { disableConsoleIntercept: true, root: new URL('..', import.meta.url).pathname }

// Tests on brokers mostly wait: two files at a time keep two cores busy.
const onBrokers = {
  testTimeout: 400_000,
  hookTimeout: 400_000,
  pool: 'forks' as const,
  maxWorkers: 2,
  expect: { poll: { timeout: 60_000 } },
}

export default defineConfig({
  test: {
    ...common,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/support/summary-reporter.ts'],
    projects: [
      { test: { ...common, name: 'unit', testTimeout: 60_000, include: ['test/unit/**/*.test.ts'], sequence: { groupOrder: 0 } } },
      { test: { ...common, ...onBrokers, name: 'broker', include: ['test/broker/**/*.test.ts'], sequence: { groupOrder: 1 } } },
      { test: { ...common, ...onBrokers, name: 'chaos', include: ['test/chaos/**/*.test.ts'], sequence: { groupOrder: 1 } } },
      {
        test: {
          ...common,
          ...onBrokers,
          name: 'soak',
          include: ['test/soak/**/*.test.ts'],
          testTimeout: 3_600_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
