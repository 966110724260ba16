/** A seed from TEST_SEED or chance, printed so that a failure can be had again. */
export function seedOf(name: string): number {
  const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  console.log(`${name}: TEST_SEED=${seed}`)
  return seed
}

/** Random numbers from 0 up to 1, the same for the same {@link seedOf} (mulberry32). */
export function randomOf(name: string): () => number {
  let state = seedOf(name) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Options of a fast-check property: so many runs, more with TEST_RUNS times as many, and TEST_SEED to have a failure
 * again (fast-check tells the seed of one).
 */
export function propertyRuns(runs: number): { readonly numRuns: number; readonly seed?: number } {
  const { TEST_SEED: seed, TEST_RUNS: times } = process.env
  return { numRuns: runs * Number(times ?? 1), ...(seed === undefined ? {} : { seed: Number(seed) }) }
}
