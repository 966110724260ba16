import type { Reporter, TestModule } from 'vitest/node'

/** Ends the run's output with the slowest files and one line of counts that scripts can read. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      if (module.errors().length > 0) counts.failed++
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        counts[state === 'pending' ? 'skipped' : state]++
      }
    }
    const slowest = modules
      .map((module) => ({ name: module.relativeModuleId, seconds: module.diagnostic().duration / 1_000 }))
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, 10)
    process.stdout.write('\nSlowest files\n')
    for (const { name, seconds } of slowest) process.stdout.write(`${seconds.toFixed(1).padStart(8)} s  ${name}\n`)
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`)
  }
}
