/** Partitions of the state topic, which are the shards of the work. Fixed for the life of the topic. */
export const SHARDS = 50

/** FNV-1a over UTF-8, 32 bits. Part of the stored format: where a status lies follows from it. */
export function stableHash(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193)
  // FNV's low bits mix poorly for keys that differ in the last character only; fold the high half in.
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The shard of one mirrored partition. */
export const shardOf = (mirror: string, topic: string, partition: number, shards = SHARDS): number =>
  stableHash(`${mirror}/${topic}/${partition}`) % shards

/** The shard on whose owner a mirror's slow loops run. */
export const mirrorShardOf = (mirror: string, shards = SHARDS): number => stableHash(mirror) % shards
