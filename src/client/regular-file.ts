import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs'

/** No store of keys or file of passwords comes near it. */
const LONGEST = 1 << 20

/**
 * Reads a file that others may have named: only a regular one of at most a mebibyte, since a pipe would never end and a device
 * might give bytes for ever. Follows symbolic links.
 *
 * @throws NodeJS.ErrnoException
 */
export function readRegularFile(path: string): Buffer {
  return readPlainly(realpathSync(path))
}

/** The same for a path that holds no symbolic links, as `realpath` gave it. */
export function readPlainly(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const { size } = regular(fstatSync(file))
    const chunks: Buffer[] = []
    for (let total = 0; ; ) {
      // A size may be 0 for files that are made while they are read.
      const chunk = Buffer.alloc(Math.max(size - total, 0) + 4_096)
      const read = readSync(file, chunk)
      if (read === 0) return Buffer.concat(chunks)
      total += read
      if (total > LONGEST) throw Object.assign(new Error('the file is too large'), { code: 'EFBIG' })
      chunks.push(chunk.subarray(0, read))
    }
  } finally {
    closeSync(file)
  }
}

function regular(stats: { isFile(): boolean; readonly size: number }): { readonly size: number } {
  if (!stats.isFile()) throw Object.assign(new Error('it is not a regular file'), { code: 'EFTYPE' })
  if (stats.size > LONGEST) throw Object.assign(new Error('the file is too large'), { code: 'EFBIG' })
  return stats
}
