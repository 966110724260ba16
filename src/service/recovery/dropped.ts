const NAMED = 3

/** Where both logs of a partition begin, and from where on they differ. */
interface Looked {
  readonly source: { readonly logStartOffset: bigint } | undefined
  readonly destination: { readonly logStartOffset: bigint; readonly logEndOffset: bigint } | undefined
  readonly differsFrom: bigint | undefined
}

/** What a reseed neither copies again nor keeps: the source has no such offsets any more, and nothing can tell whether they differ. */
function droppedOf({ source, destination, differsFrom }: Looked): { from: bigint; to: bigint } | undefined {
  if (source === undefined || destination === undefined) return undefined
  const { logStartOffset: from, logEndOffset } = destination
  // Where all is different, or nothing is left to compare, all of it is kept.
  if (differsFrom === from || logEndOffset <= source.logStartOffset || source.logStartOffset <= from) return undefined
  return { from, to: source.logStartOffset - 1n }
}

/** One sentence about what is lost when a topic is copied again; undefined if nothing is. */
export function droppedWarning(topic: string, looked: ReadonlyMap<number, Looked>): string | undefined {
  const ranges = [...looked].flatMap(([partition, one]) => {
    const range = droppedOf(one)
    return range === undefined ? [] : [{ partition, ...range }]
  })
  if (ranges.length === 0) return undefined
  const offsets = ranges.reduce((sum, { from, to }) => sum + to - from + 1n, 0n)
  return `topic ${topic}: ${offsets} offset(s) below the source's log start are neither copied again nor kept: ${rangesText(ranges)}`
}

/** `0 to 9 of partition 0, 4 to 5 of partition 1 and of 2 more`, with a few of them; ends are included. */
export function rangesText(ranges: readonly { readonly partition: number; readonly from: bigint; readonly to: bigint }[]): string {
  const named = ranges.slice(0, NAMED).map(({ partition, from, to }) => `${from} to ${to} of partition ${partition}`)
  return `${named.join(', ')}${ranges.length > NAMED ? ` and of ${ranges.length - NAMED} more` : ''}`
}
