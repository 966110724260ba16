import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take long, the longest first: one that began last would keep a single core busy at the end of the run. */
const LONG = [
  'chaos/chaos',
  'broker/sharing',
  'broker/mirror-logs',
  'chaos/broker-restart',
  'broker/package',
  'broker/mirror-faults-elections',
  'broker/mirror-changes',
  'chaos/runner-kill',
  'broker/model-broker',
  'broker/mirror-faults',
  'broker/mirror-logs-kinds',
  'broker/reseed',
].map((name) => `/test/${name}.test.ts`)

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONG.findIndex((end) => moduleId.endsWith(end))
      return place === -1 ? LONG.length : place
    }
    return sorted.sort((a, b) => rank(a) - rank(b))
  }
}
