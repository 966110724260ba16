import { Errors, kafkaError } from '../protocol/index.js'
import { type Cluster, isStaleRoute } from './cluster.js'
import { failed, type Result } from './result.js'

export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** Rounds of asking again for partitions whose leader was stale or unknown; they end within a second or so of an election. */
const ROUNDS = 5

/** Sends the items that one broker leads; answers in the order of the items. */
export type AskBroker<P, T> = (brokerId: number, items: readonly P[]) => Promise<ReadonlyArray<Result<T>>>

/**
 * Asks for many partitions at once, one request per leader. Answers come in the order of the items. Items whose route was
 * stale are asked for again after a refresh, a few times; one broker's failure is the failure of its items only.
 */
export async function byLeader<P extends TopicPartition, T>(
  cluster: Cluster,
  items: readonly P[],
  ask: AskBroker<P, T>,
): Promise<Array<Result<T>>> {
  const results: Array<Result<T>> = []
  let open = items.map((item, index) => ({ item, index }))
  for (let round = 0; round < ROUNDS && open.length > 0; round++) {
    const unknown = open.filter(({ item }) => round > 0 || cluster.leaderOf(item.topic, item.partition) === undefined)
    if (unknown.length > 0) {
      try {
        await cluster.refresh([...new Set(unknown.map(({ item }) => item.topic))])
      } catch (error) {
        for (const { index } of unknown) results[index] = failed(error as Error)
        open = open.filter((entry) => !unknown.includes(entry))
      }
    }
    const groups = new Map<number, typeof open>()
    for (const entry of open) {
      const leader = cluster.leaderOf(entry.item.topic, entry.item.partition)
      if (leader === undefined) results[entry.index] = failed(cluster.missingLeader(entry.item.topic, entry.item.partition))
      else groups.set(leader.brokerId, [...(groups.get(leader.brokerId) ?? []), entry])
    }
    await Promise.all(
      [...groups].map(async ([brokerId, entries]) => {
        const answers = await askOne(brokerId, entries, ask)
        for (const [at, { index }] of entries.entries())
          results[index] = answers[at] ?? failed(kafkaError(Errors.UNKNOWN_SERVER_ERROR, 'the answer lacks the partition'))
      }),
    )
    open = open.filter(({ index }) => isStale(results[index]!))
  }
  return results
}

async function askOne<P, T>(
  brokerId: number,
  entries: ReadonlyArray<{ item: P }>,
  ask: AskBroker<P, T>,
): Promise<ReadonlyArray<Result<T>>> {
  try {
    return await ask(
      brokerId,
      entries.map(({ item }) => item),
    )
  } catch (error) {
    return entries.map(() => failed(error as Error))
  }
}

function isStale(result: Result<unknown>): boolean {
  return !result.ok && 'code' in result.error && typeof result.error.code === 'number' && isStaleRoute(result.error.code)
}

/** Items by topic, as most requests want them. */
export function groupByTopic<P extends TopicPartition>(items: readonly P[]): Map<string, P[]> {
  const topics = new Map<string, P[]>()
  for (const item of items) {
    const list = topics.get(item.topic)
    if (list === undefined) topics.set(item.topic, [item])
    else list.push(item)
  }
  return topics
}

/** Answers in the order of the items they belong to. */
export function inOrder<P extends TopicPartition, T>(
  items: readonly P[],
  answers: Iterable<readonly [topic: string, partition: number, T]>,
): T[] {
  const found = new Map<string, T>()
  for (const [topic, partition, answer] of answers) found.set(`${topic}/${partition}`, answer)
  return items.map((item) => found.get(`${item.topic}/${item.partition}`) as T)
}
