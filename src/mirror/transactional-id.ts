/** All transactional ids of fills begin with this: what to grant WRITE on, as a prefixed ACL. */
export const TRANSACTIONAL_ID_PREFIX = 'kafka-mirrors-'

/**
 * The transactional id that fills one mirror partition where the right to write markers is missing. Fixed, so that whoever
 * owns the partition next can end what its last owner began.
 */
export const transactionalIdOf = (mirror: string, topic: string, partition: number): string =>
  `${TRANSACTIONAL_ID_PREFIX}${mirror}/${topic}/${partition}`
