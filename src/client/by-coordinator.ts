import { setTimeout as sleep } from 'node:timers/promises'
import { Errors, FindCoordinator, KafkaError, kafkaError } from '../protocol/index.js'
import type { AskBroker } from './by-leader.js'
import type { Cluster } from './cluster.js'
import { ConnectionError } from './errors.js'
import { batchesOf, inPool } from './many.js'
import { failed, type Result, success } from './result.js'

export interface GroupAt {
  readonly groupId: string
  /** The broker that coordinated it last, where that is known: it need not be looked up then. */
  readonly coordinator?: number | undefined
}

/** Milliseconds for one look-up or one request of a round, retries included. */
export const PATIENCE_MS = 5_000
/** Rounds of asking again for groups whose coordinator had moved or was away; a move ends within a second or so. */
const ROUNDS = 5
const FIRST_PAUSE_MS = 100
/** Groups that one look-up names. */
const LOOK_UP = 500

const ELSEWHERE: ReadonlySet<number> = new Set([
  Errors.COORDINATOR_LOAD_IN_PROGRESS,
  Errors.COORDINATOR_NOT_AVAILABLE,
  Errors.NOT_COORDINATOR,
])

/** Whether an error code means that the group's coordinator is another broker, or the same one a little later. */
export const isElsewhere = (errorCode: number): boolean => ELSEWHERE.has(errorCode)

export interface ByCoordinatorOptions {
  /** Groups that one request names. */
  readonly batch: number
  /** Requests under way at one broker. */
  readonly atOnce: number
}

/**
 * Asks for many groups at once, in batches at the brokers that coordinate them. Answers come in the order of the items.
 * Groups whose coordinator was away or had moved are looked up and asked for again, a few times; the failure of a batch is
 * that of its items only.
 */
export async function byCoordinator<P extends GroupAt, T>(
  cluster: Cluster,
  items: readonly P[],
  { batch, atOnce }: ByCoordinatorOptions,
  ask: AskBroker<P, T>,
): Promise<Array<Result<T>>> {
  const results: Array<Result<T>> = []
  let open = items.map((item, index) => ({ item, index, coordinator: item.coordinator }))
  for (let round = 0; round < ROUNDS && open.length > 0; round++) {
    if (round > 0) await sleep(FIRST_PAUSE_MS * 2 ** (round - 1))
    const unknown = open.filter(({ coordinator }) => coordinator === undefined)
    const found = await findCoordinators(
      cluster,
      unknown.map(({ item }) => item.groupId),
    )
    const brokers = new Map<number, typeof open>()
    for (const entry of open) {
      const coordinator = entry.coordinator === undefined ? found.get(entry.item.groupId)! : success(entry.coordinator)
      if (!coordinator.ok) results[entry.index] = coordinator
      else brokers.set(coordinator.value, [...(brokers.get(coordinator.value) ?? []), entry])
    }
    await Promise.all(
      [...brokers].map(([brokerId, entries]) =>
        inPool(atOnce, batchesOf(entries, batch), async (some) => {
          const answers = await answersOf(
            brokerId,
            some.map(({ item }) => item),
            ask,
          )
          for (const [at, { index }] of some.entries())
            results[index] = answers[at] ?? failed(kafkaError(Errors.UNKNOWN_SERVER_ERROR, 'the answer lacks the group'))
        }),
      ),
    )
    open = open.filter(({ index }) => mayHeal(results[index]!)).map((entry) => ({ ...entry, coordinator: undefined }))
  }
  return results
}

async function answersOf<P, T>(brokerId: number, items: readonly P[], ask: AskBroker<P, T>): Promise<ReadonlyArray<Result<T>>> {
  try {
    return await ask(brokerId, items)
  } catch (error) {
    return items.map(() => failed(error as Error))
  }
}

/** A broker that is gone from the cluster, or out of reach, may have handed its groups to another one. */
function mayHeal(result: Result<unknown>): boolean {
  if (result.ok) return false
  const { error } = result
  if (error instanceof ConnectionError) return error.retriable
  return error instanceof KafkaError && (isElsewhere(error.code) || error.code === Errors.BROKER_NOT_AVAILABLE)
}

/** The brokers that coordinate groups, an outcome for each, whether the groups exist or not (KIP-699: many at once). Never throws. */
export async function findCoordinators(cluster: Cluster, groupIds: readonly string[]): Promise<Map<string, Result<number>>> {
  const found = new Map<string, Result<number>>()
  for (const batch of batchesOf(groupIds, LOOK_UP)) {
    for (const [groupId, result] of await lookUp(cluster, batch)) found.set(groupId, result)
  }
  return found
}

async function lookUp(cluster: Cluster, groupIds: readonly string[]): Promise<ReadonlyArray<readonly [string, Result<number>]>> {
  try {
    const answer = await cluster.any(
      FindCoordinator,
      { key: groupIds[0]!, keyType: 0, coordinatorKeys: groupIds },
      {
        deadlineMs: PATIENCE_MS,
        errorsOf: ({ errorCode, coordinators }) => [errorCode, ...coordinators.map((one) => one.errorCode)],
      },
    )
    if (answer.coordinators.length > 0)
      return answer.coordinators.map((one) => [one.key, coordinatorOf(one.errorCode, one.errorMessage, one.nodeId)] as const)
    // Before version 4 a request names one group only, and that was the first.
    const first = [groupIds[0]!, coordinatorOf(answer.errorCode, answer.errorMessage, answer.nodeId)] as const
    const others = await inPool(16, groupIds.slice(1), (groupId) => lookUp(cluster, [groupId]))
    return [first, ...others.flat()]
  } catch (error) {
    return groupIds.map((groupId) => [groupId, failed(error as Error)] as const)
  }
}

const coordinatorOf = (errorCode: number, message: string | null, nodeId: number): Result<number> =>
  errorCode === 0 ? success(nodeId) : failed(kafkaError(errorCode, message))
