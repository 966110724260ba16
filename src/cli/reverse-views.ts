import type { ReversedPartition, ReversedTopic, TopicResult } from '../service/types.js'
import { succeeded } from './item-results.js'
import type { Column } from './table.js'
import { NEEDED } from './views.js'

export type ReversedRow = Partial<ReversedPartition> & { readonly topic: string } & Pick<ReversedTopic, 'how' | 'needs'>

/** A topic without partitions to show has one row of its own. */
export function reversedRows(topics: readonly TopicResult<ReversedTopic>[]): ReversedRow[] {
  return succeeded(topics).flatMap(({ topic, how, needs, partitions }): ReversedRow[] =>
    partitions.length === 0 ? [{ topic, how, needs }] : partitions.map((partition) => ({ topic, how, needs, ...partition })),
  )
}

/** What copying back would do, and what stands against it. The source is the other cluster. */
export const reversedColumns: readonly Column<ReversedRow>[] = [
  { header: 'TOPIC', value: (row) => row.topic },
  { header: 'PARTITION', value: (row) => row.partition },
  { header: 'LAST-MIRRORED', value: (row) => row.lastMirrored },
  { header: 'DESTINATION-OFFSET', value: (row) => row.destinationOffset },
  { header: 'SOURCE-OFFSET', value: (row) => row.sourceOffset },
  { header: 'DIFFERS-FROM', value: (row) => row.differsFrom, colour: () => 'red' },
  { header: 'OFFSETS', value: (row) => row.divergedOffsets },
  {
    header: 'RECORDS',
    value: (row) => (row.divergedRecordsComplete === false ? `${row.divergedRecords ?? 0}+` : row.divergedRecords),
  },
  { header: 'ACTION', value: (row) => row.how },
  { header: 'NEEDS', value: (row) => NEEDED[row.needs ?? 'nothing'] },
]
