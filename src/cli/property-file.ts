import { readFile } from 'node:fs/promises'
import { wrongUse } from './errors.js'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'reading it is not allowed',
  EISDIR: 'it is a directory',
}

/** Reads a Java properties file. Throws a usage error that names the file, and the line if one is bad. */
export async function readPropertyFile(path: string, flag: string): Promise<Map<string, string>> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    throw wrongUse(`cannot read ${path}: ${REASONS[code] ?? (error as Error).message}`, `check ${flag}`)
  }
  const { parseProperties } = await import('../client/properties.js')
  try {
    return parseProperties(text).entries
  } catch (error) {
    throw wrongUse(`${path}, ${(error as Error).message}`)
  }
}
