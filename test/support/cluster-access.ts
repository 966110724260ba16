/** How Kafka's own clients reach a cluster. */
export interface ClusterAccess {
  /** `host:port`. */
  readonly bootstrap: string
  /** Java client settings: security and the like. */
  readonly properties?: Readonly<Record<string, string>>
}

/** The part of a request that says where to go; what else the object carries stays here. */
export function accessOf(cluster: ClusterAccess): { bootstrap: string; properties?: Readonly<Record<string, string>> } {
  return { bootstrap: cluster.bootstrap, ...('properties' in cluster ? { properties: cluster.properties } : {}) }
}
