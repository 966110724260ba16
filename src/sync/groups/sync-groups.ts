import { type GroupListing, type GroupPosition, listGroups } from '../../client/admin-groups.js'
import { findCoordinators } from '../../client/by-coordinator.js'
import type { Cluster } from '../../client/cluster.js'
import { filterOf } from '../../mirror/filters.js'
import type { SyncReport } from '../types.js'
import { boundsOf } from './bounds.js'
import { type Candidate, chooseGroups } from './choose.js'
import { Findings, isGone } from './findings.js'
import { KEEPING } from './keeping.js'
import { planGroup } from './plan.js'
import { reasonOf, takenBy } from './refusals.js'
import { writePositions } from './write.js'

export interface GroupSync {
  readonly source: Cluster
  readonly destination: Cluster
  /** Mirrored topics; positions in others are not looked at. */
  readonly topics: ReadonlySet<string>
  /** Names or whole-name regexes. */
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  /** Whose unchanged positions are to be written again, so that they don't expire; default: nobody's. */
  renew?(groupId: string): boolean
  /** Asked right before positions are written: a topic may have been taken out since the round began. Default: true. */
  mayWrite?(topic: string): boolean
}

/** A candidate with its positions in mirrored topics. */
type Wanted = Candidate & { readonly positions: readonly GroupPosition[] }
/** Without members on the destination, which has these positions of it. */
type Open = Wanted & { readonly current: readonly GroupPosition[]; readonly coordinator: number }

/**
 * One round: brings the positions of the destination's groups without members to the source's. Groups with members there
 * are left alone (KAFKA-19794), so is one of another kind under the same name; whatever keeps one group, partition or broker
 * from being synced is reported and stops nothing else. Sends no commit where nothing changed.
 *
 * @throws KafkaError, ConnectionError when a side does not tell its groups at all
 */
export async function syncGroups(request: GroupSync): Promise<SyncReport> {
  const { source, destination, topics } = request
  const findings = new Findings()
  if (topics.size === 0) return findings.report()
  const [there, here] = await Promise.all([listGroups(source), listGroups(destination)])
  for (const [broker, error] of there.unanswered)
    findings.problem(`broker ${broker} of the source`, `it did not list its groups: ${reasonOf(error, 'source')}`)
  const candidates = chooseGroups(there, here, filterOf(request.include, request.exclude))
  const wanted = await withPositions(source, topics, candidates, findings)
  const open = [...(await ofEmptyGroups(destination, wanted, findings)), ...(await ofNewGroups(destination, wanted, here, findings))]
  const inUse = open.flatMap(({ positions }) => positions)
  const bounds = await boundsOf(destination, inUse, findings)
  const plans = open.map((group) => ({ ...group, ...planGroup(group.positions, group.current, bounds, request.renew?.(group.groupId)) }))
  const due = plans.filter(({ positions }) => positions.length > 0)
  await writePositions(destination, due, request.mayWrite ?? (() => true), findings)
  return findings.report()
}

/** The candidates that have positions in mirrored topics. */
async function withPositions(
  source: Cluster,
  topics: ReadonlySet<string>,
  candidates: readonly Candidate[],
  findings: Findings,
): Promise<Wanted[]> {
  const wanted: Wanted[] = []
  for (const { keeping, read } of KEEPING) {
    const groups = candidates.filter((candidate) => candidate.keeping === keeping)
    const results = await read(
      source,
      groups.map(({ groupId, sourceCoordinator }) => ({ groupId, coordinator: sourceCoordinator })),
    )
    for (const [at, group] of groups.entries()) {
      if (isGone(results[at]!)) continue
      const all = findings.take(results[at]!, group.groupId, 'source', 'the source did not tell its positions')
      const positions = (all ?? []).filter(({ topic }) => topics.has(topic))
      if (positions.length > 0) wanted.push({ ...group, positions })
    }
  }
  return wanted
}

async function ofEmptyGroups(destination: Cluster, wanted: readonly Wanted[], findings: Findings): Promise<Open[]> {
  const open: Open[] = []
  for (const { keeping, read } of KEEPING) {
    const groups = wanted.flatMap((group) => {
      const { destination: standing } = group
      if (group.keeping !== keeping) return []
      if (standing.what === 'active') findings.leftAlone(group.groupId)
      if (standing.what === 'other') findings.problem(group.groupId, takenBy(`a ${standing.type} group`))
      return standing.what === 'empty' ? [{ ...group, coordinator: standing.coordinator }] : []
    })
    const results = await read(destination, groups)
    for (const [at, group] of groups.entries()) {
      if (isGone(results[at]!)) continue
      const current = findings.take(results[at]!, group.groupId, 'destination', 'the destination did not tell its positions')
      if (current !== undefined) open.push({ ...group, current })
    }
  }
  return open
}

/** Groups the destination does not have. One that a broker may have which was not heard is unknown, and that is not new. */
async function ofNewGroups(destination: Cluster, wanted: readonly Wanted[], listing: GroupListing, findings: Findings): Promise<Open[]> {
  const groups = wanted.filter((group) => group.destination.what === 'absent')
  const coordinators = await findCoordinators(
    destination,
    groups.map(({ groupId }) => groupId),
  )
  return groups.flatMap((group) => {
    const found = coordinators.get(group.groupId)!
    const coordinator = findings.take(found, group.groupId, 'destination', 'the destination has no coordinator for it')
    if (coordinator === undefined) return []
    const unheard = listing.unanswered.get(coordinator)
    if (unheard === undefined) return [{ ...group, coordinator, current: [] }]
    findings.problem(
      group.groupId,
      `broker ${coordinator} of the destination did not say what it has of it: ${reasonOf(unheard, 'destination')}`,
    )
    return []
  })
}
