/**
 * Topic ids are canonical hex text with hyphens inside, and what Kafka's `Uuid.toString` gives (base64url, 22 characters)
 * where users read or type them.
 */

import { NO_UUID } from './schema.js'

const HEX = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const BASE64 = /^[A-Za-z0-9_-]{21}[AQgw]$/

/** Whether two topic ids are surely not the same topic's: both are known, and they differ. */
export const idsDiffer = (a: string, b: string): boolean => a !== NO_UUID && b !== NO_UUID && a !== b

/** `00000000-0000-0000-0000-000000000001` → `AAAAAAAAAAAAAAAAAAAAAQ`. Throws a RangeError if `uuid` is not a uuid. */
export function uuidToBase64(uuid: string): string {
  if (!HEX.test(uuid)) throw new RangeError(`'${uuid}' is not a uuid`)
  return Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url')
}

/** The other direction of {@link uuidToBase64}. Throws a RangeError if `text` is not 16 bytes in base64url. */
export function uuidFromBase64(text: string): string {
  if (!BASE64.test(text)) throw new RangeError(`'${text}' is not a topic id`)
  const hex = Buffer.from(text, 'base64url').toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
