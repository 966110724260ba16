import * as protocol from '../../src/protocol/index.js'
import type { Api } from '../../src/protocol/schema.js'

/** Every API table that `src/protocol` exports. */
export const apis: readonly Api[] = Object.values<unknown>(protocol).filter(
  (value): value is Api => typeof value === 'object' && value !== null && 'request' in value,
)

/** The versions that we speak. */
export function versionsOf({ versions }: Api): number[] {
  return Array.from({ length: versions.max - versions.min + 1 }, (_, i) => versions.min + i)
}
