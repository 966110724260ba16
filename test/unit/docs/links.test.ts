import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../support/cli.js'

/** Relative links of a page: what is said and where it leads. */
function linksOf(page: string): { text: string; target: string }[] {
  const links = readFileSync(join(root, page), 'utf8').matchAll(/\[([^\]]+)\]\((?!https?:|#)([^)#]+)\)/g)
  return [...links].map(([, text, target]) => ({ text: text!, target: join(root, dirname(page), target!) }))
}

const PAGES = ['README.md', 'docs/guarantees.md', 'docs/configuration.md', 'docs/config-providers.md', 'docs/access-rules.md']

it.each(PAGES)('%s links to files that are there', (page) => {
  expect(linksOf(page).filter(({ target }) => !existsSync(target))).toEqual([])
})

it('every guarantee names tests by their titles', () => {
  const tests = linksOf('docs/guarantees.md').filter(({ target }) => target.endsWith('.test.ts'))
  expect(tests.length).toBeGreaterThan(30)
  expect(tests.filter(({ text, target }) => !readFileSync(target, 'utf8').includes(text))).toEqual([])
})

it('every guarantee names a test', () => {
  const rows = readFileSync(join(root, 'docs/guarantees.md'), 'utf8').match(/^\| (?!guarantee|-).*$/gm) ?? []
  expect(rows.length).toBeGreaterThan(20)
  expect(rows.filter((row) => !row.includes('.test.ts)'))).toEqual([])
})
