export const least = (...values: readonly bigint[]): bigint => [...values].sort(ascending)[0]!
export const most = (...values: readonly bigint[]): bigint => [...values].sort(ascending).at(-1)!

export const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
