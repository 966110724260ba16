import { ascending } from '../../mirror/offsets.js'
import type { OffsetRange } from './log-view.js'

/** Offsets of one stretch of a sample. */
export const STRETCH_OFFSETS = 1_000n

/** Random numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The stretches of a range that a sample looks at: both ends and `count` others, ascending and apart. Small ranges are looked at whole. */
export function sampleOf(range: OffsetRange, count: number, random: () => number): OffsetRange[] {
  const size = range.to - range.from
  if (size <= STRETCH_OFFSETS * BigInt(count + 2)) return size > 0n ? [range] : []
  const last = range.to - STRETCH_OFFSETS
  const starts = [range.from, last]
  const span = Number(last - range.from)
  for (let i = 0; i < count; i++) starts.push(range.from + BigInt(Math.floor(random() * (span + 1))))
  starts.sort(ascending)
  const stretches: { from: bigint; to: bigint }[] = []
  for (const from of starts) {
    const before = stretches.at(-1)
    if (before !== undefined && before.to >= from) before.to = from + STRETCH_OFFSETS
    else stretches.push({ from, to: from + STRETCH_OFFSETS })
  }
  return stretches
}

export const offsetsIn = (ranges: readonly OffsetRange[]): bigint => ranges.reduce((sum, { from, to }) => sum + (to - from), 0n)
