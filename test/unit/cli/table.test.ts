import { describe, expect, test } from 'vitest'
import { type Column, renderTable } from '../../../src/cli/table.js'

interface Row {
  name: string
  offset: bigint | undefined
  note: string
}

const columns: Column<Row>[] = [
  { header: 'NAME', value: (row) => row.name, colour: () => 'green' },
  { header: 'OFFSET', value: (row) => row.offset },
  { header: 'NOTE', value: (row) => row.note, wide: true, sentence: true },
]
const rows: Row[] = [
  { name: 'a', offset: 9007199254740993n, note: 'two  words\nand more' },
  { name: 'much-longer', offset: undefined, note: '' },
]
const plain = { headers: true, wide: false, colour: false }

describe('tables', () => {
  test('are padded with spaces only, without any at the end of a line', () => {
    expect(renderTable(columns, rows, plain)).toBe('NAME        OFFSET\na           9007199254740993\nmuch-longer -\n')
  })

  test('wide shows more columns, and a sentence may have blanks at the end of a row', () => {
    const [, first, second] = renderTable(columns, rows, { ...plain, wide: true }).split('\n')
    expect(first).toBe('a           9007199254740993 two words and more')
    expect(second).toBe('much-longer -                -')
  })

  test('an empty one is just its headers, or nothing without them', () => {
    expect(renderTable(columns, [], plain)).toBe('NAME OFFSET\n')
    expect(renderTable(columns, [], { ...plain, headers: false })).toBe('')
    expect(renderTable(columns, rows, { ...plain, headers: false }).split('\n')).toHaveLength(3)
  })

  test('a blank in a cell cannot shift columns', () => {
    expect(renderTable(columns, [{ name: 'a b', offset: 1n, note: '' }], plain)).toContain('a_b  1\n')
  })

  test('colour does not change the padding', () => {
    const coloured = renderTable(columns, rows, { ...plain, colour: true })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
    expect(coloured.replace(/\x1b\[\d+m/g, '')).toBe(renderTable(columns, rows, plain))
    expect(coloured).toContain('\x1b[32ma\x1b[39m')
  })

  test('is never truncated', () => {
    const long = 'x'.repeat(500)
    expect(renderTable(columns, [{ name: long, offset: 1n, note: '' }], plain)).toContain(`${long} 1\n`)
  })
})
