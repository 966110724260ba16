import { Chalk } from 'chalk'
import Table from 'cli-table3'

export type Colour = 'green' | 'yellow' | 'red' | 'dim'

export interface Column<Row> {
  readonly header: string
  /** Undefined is shown as `-`, for what nobody knows. */
  readonly value: (row: Row) => string | number | bigint | undefined
  readonly colour?: (row: Row) => Colour | undefined
  /** Shown only with `-o wide`. */
  readonly wide?: boolean
  /** May hold blanks; only the last column can. */
  readonly sentence?: boolean
}

export interface TableOptions {
  readonly headers: boolean
  readonly wide: boolean
  readonly colour: boolean
}

const BORDER_PARTS =
  'top,top-mid,top-left,top-right,bottom,bottom-mid,bottom-left,bottom-right,left,left-mid,mid,mid-mid,right,right-mid,middle'.split(',')
const NO_BORDERS = Object.fromEntries(BORDER_PARTS.map((part) => [part, '']))

/** Columns padded with spaces, one line per row, never truncated: what both `awk` and eyes can read. Ends in a line feed, or is empty. */
export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], options: TableOptions): string {
  const chalk = new Chalk({ level: options.colour ? 1 : 0 })
  const shown = columns.filter((column) => options.wide || !column.wide)
  const table = new Table({
    chars: NO_BORDERS,
    style: { 'padding-left': 0, 'padding-right': 1, head: [], border: [], compact: true },
  })
  if (options.headers) table.push(shown.map((column) => column.header))
  for (const row of rows) {
    table.push(
      shown.map((column) => {
        const colour = column.colour?.(row)
        const text = cell(column, row)
        return colour ? chalk[colour](text) : text
      }),
    )
  }
  if (table.length === 0) return ''
  const lines = table.toString().split('\n')
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

/** A cell is one word, whatever is in it, or columns could not be counted. */
function cell<Row>(column: Column<Row>, row: Row): string {
  const text = String(column.value(row) ?? '-')
  if (text === '') return '-'
  return column.sentence ? text.replace(/\s+/g, ' ').trim() : text.trim().replace(/\s+/g, '_')
}
