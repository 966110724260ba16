import { createRequire } from 'node:module'

/** The package is CommonJS with a native binding; its named exports are not visible to ESM. */
const native = createRequire(import.meta.url)('@node-rs/crc32') as { crc32(bytes: Buffer): number; crc32c(bytes: Buffer): number }

/** CRC-32C (Castagnoli), the checksum of v2 batches. Runs at memory speed; a call costs about 0.15 µs. */
export const crc32c = (bytes: Buffer): number => native.crc32c(bytes)

/** CRC-32 (ISO 3309, as in zlib), the checksum of magic 0 and 1 messages. */
export const crc32 = (bytes: Buffer): number => native.crc32(bytes)
