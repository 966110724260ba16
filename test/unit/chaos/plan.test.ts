import { describe, expect, it } from 'vitest'
import { type Action, type Planned, type PlanOptions, planChaos } from '../../support/chaos/plan.js'

const OPTIONS: PlanOptions = { durationMs: 600_000, brokers: { source: 3, destination: 1 }, runners: 2 }

/** Any numbers will do, as long as they are the same for the same seed. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

const plans = Array.from({ length: 20 }, (_, seed) => planChaos(numbers(seed), OPTIONS))

/** What is wrong at each moment, by what it befalls. */
function* troubles(
  plan: readonly Planned[],
  begins: readonly Action['kind'][],
  ends: readonly Action['kind'][],
  of: (action: Action) => string,
) {
  const open = new Map<string, number>()
  for (const { action } of plan) {
    const change = begins.includes(action.kind) ? 1 : ends.includes(action.kind) ? -1 : 0
    if (change === 0) continue
    open.set(of(action), (open.get(of(action)) ?? 0) + change)
    yield open.get(of(action))!
  }
  for (const left of open.values()) expect(left).toBe(0)
}

const side = (action: Action) => ('side' in action ? action.side : '')

describe('the plan of a chaos', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(planChaos(numbers(3), OPTIONS)).toEqual(plans[3])
    expect(new Set(plans.map((plan) => JSON.stringify(plan))).size).toBe(plans.length)
  })

  it('is in order of time and has everything in it', () => {
    const kinds = new Set(plans.flatMap((plan) => plan.map(({ action }) => action.kind)))
    expect(kinds.size).toBe(16)
    for (const plan of plans) {
      expect(plan.map(({ at }) => at)).toEqual(plan.map(({ at }) => at).sort((a, b) => a - b))
      expect(plan.length).toBeGreaterThan(300)
    }
  })

  it('takes down one broker of a side at a time, and starts it again', () => {
    for (const plan of plans) {
      for (const down of troubles(plan, ['kill-broker', 'stop-broker'], ['start-broker'], side)) expect(down === 0 || down === 1).toBe(true)
    }
  })

  it('ends whatever it begins', () => {
    for (const plan of plans) {
      for (const pair of [
        ['stall', 'resume'],
        ['delay', 'undelay'],
        ['lose-answers', 'keep-answers'],
      ] as const) {
        for (const open of troubles(plan, [pair[0]], [pair[1]], side)) expect(open === 0 || open === 1).toBe(true)
      }
      const runner = (action: Action) => ('runner' in action ? String(action.runner) : '')
      for (const frozen of troubles(plan, ['freeze-runner'], ['thaw-runner'], runner)) expect(frozen === 0 || frozen === 1).toBe(true)
    }
  })
})
