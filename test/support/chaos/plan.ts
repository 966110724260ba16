export type SideName = 'source' | 'destination'

/** One thing that is done, at a time of the plan. */
export type Action =
  | { readonly kind: 'kill-broker' | 'stop-broker' | 'start-broker'; readonly side: SideName; readonly node: number }
  | { readonly kind: 'move-leader'; readonly side: SideName; readonly node: number; readonly pick: number }
  | { readonly kind: 'cut' | 'stall' | 'resume' | 'undelay' | 'keep-answers'; readonly side: SideName }
  | { readonly kind: 'delay'; readonly side: SideName; readonly milliseconds: number }
  | { readonly kind: 'lose-answers'; readonly side: SideName; readonly every: number }
  | { readonly kind: 'start-runner' | 'kill-runner' | 'stop-runner' | 'freeze-runner' | 'thaw-runner'; readonly runner: number }

export interface Planned {
  /** Milliseconds since the beginning. */
  readonly at: number
  readonly action: Action
}

export interface PlanOptions {
  readonly durationMs: number
  readonly brokers: Readonly<Record<SideName, number>>
  /** Runner 0 runs from the beginning; the others come and go. */
  readonly runners: number
}

type Draw = (from: number, to: number) => number

/** Something that can happen: what begins it, what ends it, and what nothing else may touch meanwhile. */
interface Calamity {
  readonly weight: number
  /** Free again this long after the end, in milliseconds. */
  readonly rest: number
  readonly touches: string
  begin(draw: Draw): Action
  end?(begun: Action, draw: Draw): Action
  /** How long it lasts, in milliseconds, both ends possible. */
  readonly lasts?: readonly [number, number]
}

/** A broker that was started again is not disturbed before it has had time to come up. */
const BROKER_REST_MS = 6_000

function calamities(options: PlanOptions): Calamity[] {
  const all: Calamity[] = []
  for (const side of ['source', 'destination'] as const) {
    const nodes = options.brokers[side]
    const node = (draw: Draw) => draw(1, nodes)
    const restart = { side, rest: BROKER_REST_MS, touches: `${side} brokers`, lasts: [200, 4_000] as const }
    const start = (begun: Action): Action => ({ kind: 'start-broker', side, node: (begun as { node: number }).node })
    all.push({ ...restart, weight: 2, begin: (draw) => ({ kind: 'kill-broker', side, node: node(draw) }), end: start })
    all.push({ ...restart, weight: 1, begin: (draw) => ({ kind: 'stop-broker', side, node: node(draw) }), end: start })
    if (nodes > 1) {
      const begin = (draw: Draw): Action => ({ kind: 'move-leader', side, node: node(draw), pick: draw(0, 999) })
      all.push({ weight: 3, rest: 0, touches: '', begin })
    }
    const connections = { rest: 500, touches: `${side} connections` }
    all.push({ ...connections, weight: 3, begin: () => ({ kind: 'cut', side }) })
    all.push({
      ...connections,
      weight: 1,
      lasts: [500, 5_000],
      begin: () => ({ kind: 'stall', side }),
      end: () => ({ kind: 'resume', side }),
    })
    all.push({
      ...connections,
      weight: 2,
      lasts: [1_000, 4_000],
      begin: (draw) => ({ kind: 'delay', side, milliseconds: draw(5, 150) }),
      end: () => ({ kind: 'undelay', side }),
    })
    all.push({
      ...connections,
      weight: 2,
      lasts: [1_000, 4_000],
      begin: (draw) => ({ kind: 'lose-answers', side, every: draw(3, 40) }),
      end: () => ({ kind: 'keep-answers', side }),
    })
  }
  for (let runner = 0; runner < options.runners; runner++) {
    const first = runner === 0
    const touched = { rest: 1_000, touches: `runner ${runner}` }
    const start: Action = { kind: 'start-runner', runner }
    all.push({ ...touched, weight: 3, lasts: [0, 2_000], begin: () => ({ kind: 'kill-runner', runner }), end: () => start })
    all.push({
      ...touched,
      weight: 2,
      lasts: [500, 6_000],
      begin: () => ({ kind: 'freeze-runner', runner }),
      end: () => ({ kind: 'thaw-runner', runner }),
    })
    all.push({ ...touched, weight: 1, lasts: [0, 2_000], begin: () => ({ kind: 'stop-runner', runner }), end: () => start })
    if (first) continue
    // Who has left may stay away; starting one that runs does nothing.
    all.push({ ...touched, weight: 2, begin: () => start })
    all.push({ ...touched, weight: 1, begin: (draw) => ({ kind: draw(0, 1) === 0 ? 'stop-runner' : 'kill-runner', runner }) })
  }
  return all
}

/** What will be done, in order of time. All of it comes from `random`, so that the same seed gives the same plan. */
export function planChaos(random: () => number, options: PlanOptions): Planned[] {
  const draw: Draw = (from, to) => from + Math.floor(random() * (to - from + 1))
  const choices = calamities(options)
  const freeAt = new Map<string, number>()
  const plan: Planned[] = []
  for (let at = draw(500, 1_500); at < options.durationMs; at += draw(200, 1_800)) {
    const possible = choices.filter(({ touches }) => (freeAt.get(touches) ?? 0) <= at)
    const calamity = weighted(possible, random)
    const action = calamity.begin(draw)
    const lasts = calamity.lasts === undefined ? 0 : draw(...calamity.lasts)
    plan.push({ at, action })
    if (calamity.end !== undefined) plan.push({ at: at + lasts, action: calamity.end(action, draw) })
    if (calamity.touches !== '') freeAt.set(calamity.touches, at + lasts + calamity.rest)
  }
  return plan.sort((a, b) => a.at - b.at)
}

function weighted(choices: readonly Calamity[], random: () => number): Calamity {
  let rest = random() * choices.reduce((sum, { weight }) => sum + weight, 0)
  for (const choice of choices) {
    rest -= choice.weight
    if (rest < 0) return choice
  }
  return choices.at(-1)!
}

/** As in the history of a run. */
export function textOf(action: Action): string {
  const { kind, ...rest } = action
  return [kind, ...Object.entries(rest).map(([key, value]) => `${key} ${value}`)].join(', ')
}
