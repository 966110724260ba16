import { failure, type MirrorError } from '../mirror/errors.js'

/** What was planned for a topic is over, as another command goes on with it. */
export const overtaken = (mirror: string, topic: string, advice = 'See what it is at with describe.'): MirrorError =>
  failure('CONFLICT', `another command has gone on with topic ${topic} of mirror ${mirror} meanwhile`, advice)

/** Until its addition is finished there is nothing to pause, resume or recover. */
export const coming = (mirror: string, topic: string): MirrorError =>
  failure(
    'CONFLICT',
    `topic ${topic} is being added to mirror ${mirror}`,
    'Try again once it is; if that was interrupted, add goes on with it.',
  )
