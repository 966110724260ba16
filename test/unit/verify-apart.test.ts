import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'

const ROOT = new URL('../..', import.meta.url).pathname
const VERIFY = 'src/service/verify'
/** Framing, checksums and codecs; what turns a source's records into the destination's is not among them. */
const SHARED = ['batch', 'codecs', 'crc', 'lz4-frame', 'scan', 'snappy-blocks', 'zstd-frames'].map((name) => `src/records/${name}.ts`)

const importsOf = (file: string): string[] =>
  ts
    .preProcessFile(readFileSync(join(ROOT, file), 'utf8'), true, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((from) => from.startsWith('.'))
    .map((from) => relative(ROOT, join(ROOT, dirname(file), from)).replace(/\.js$/, '.ts'))

it('verify reads records with nothing of the engine’s translation, not even through what it shares', () => {
  const files = readdirSync(join(ROOT, VERIFY)).map((name) => `${VERIFY}/${name}`)
  const reached = new Set(files.flatMap(importsOf).filter((file) => file.startsWith('src/records/')))
  expect(reached.size).toBeGreaterThan(0)
  for (const file of reached) for (const further of importsOf(file)) reached.add(further)
  expect([...reached].filter((file) => !SHARED.includes(file))).toEqual([])
})
