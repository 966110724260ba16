import { SHARDS } from './shards.js'

export interface ShardMember {
  readonly memberId: string
  /** Shards the member still holds, as it said when it joined. */
  readonly owned: readonly number[]
}

/**
 * Cooperative, sticky, balanced assignment of shards to runners (the idea of Kafka's CooperativeStickyAssignor):
 * everyone keeps what it holds up to its share, free shards go to those below their share, and a shard that has to move
 * is given to nobody until its holder has let go of it and the group rebalances again. A shard claimed by two members
 * is taken from both. Deterministic. Once nothing moves, shares differ by at most one.
 */
export function assignShards(members: readonly ShardMember[], shards = SHARDS): Map<string, number[]> {
  const claims = new Map<number, number>()
  for (const member of members) for (const shard of new Set(member.owned)) claims.set(shard, (claims.get(shard) ?? 0) + 1)
  const valid = (shard: number) => Number.isInteger(shard) && shard >= 0 && shard < shards && claims.get(shard) === 1
  const held = members
    .map(({ memberId, owned }) => ({ memberId, shards: [...new Set(owned)].filter(valid).sort((a, b) => a - b) }))
    .sort((a, b) => b.shards.length - a.shards.length || (a.memberId < b.memberId ? -1 : 1))
  // The larger shares go to those that hold most already, so that as little as possible moves.
  const base = Math.floor(shards / Math.max(1, members.length))
  const larger = shards % Math.max(1, members.length)
  const assignment = held.map(({ memberId, shards: kept }, i) => {
    const share = base + (i < larger ? 1 : 0)
    return { memberId, share, shards: kept.slice(0, share) }
  })
  const free = Array.from({ length: shards }, (_, shard) => shard).filter((shard) => !claims.has(shard))
  for (const member of [...assignment].reverse()) member.shards.push(...free.splice(0, member.share - member.shards.length))
  assignment.sort((a, b) => (a.memberId < b.memberId ? -1 : 1))
  return new Map(assignment.map((member) => [member.memberId, member.shards.sort((a, b) => a - b)]))
}
