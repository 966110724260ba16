/** A verdict about data or configuration: the partition becomes FAILED with this sentence. */
export class PartitionFailure extends Error {
  override readonly name = 'PartitionFailure'
}

/** The source's topic was deleted: the copy is all there is, and is kept. */
export class SourceGone extends Error {
  override readonly name = 'SourceGone'
}

/** This runner may no longer write the partition: another owner, or a failover, has fenced it. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

/** This runner's group session has run out: it may not send anything, and has not. */
export class LostPlace extends Error {
  override readonly name = 'LostPlace'

  constructor() {
    super('this runner lost its place in the group')
  }
}

/** Nothing is wrong, but both logs must be read again before going on. */
export class Realign extends Error {
  override readonly name = 'Realign'
}
