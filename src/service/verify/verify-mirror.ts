import { usageError } from '../../mirror/errors.js'
import { mustExist } from '../../mirror/spec-store.js'
import type { ServiceContext } from '../context.js'
import { checkedClusterId, withSource } from '../source-connection.js'
import { pairTopics, topicsToVerify } from './topic-pairs.js'
import type { VerifyMirrorOptions, VerifyMirrorResult } from './types.js'
import { Verification } from './verification.js'

const LEAST_BUFFER_BYTES = 4 << 20
const MOST_STRETCHES = 1_000_000
const LAST_OFFSET = 2n ** 63n - 1n

/** See {@link MirrorAdmin.verifyMirror}. */
export async function verifyMirror(context: ServiceContext, name: string, options: VerifyMirrorOptions): Promise<VerifyMirrorResult> {
  checkOptions(options)
  const mirror = mustExist(await context.store.read(), name)
  const topics = topicsToVerify(mirror, options.topics)
  const seed = options.sample === undefined ? undefined : (options.seed ?? Math.floor(Math.random() * 2 ** 31))
  return withSource({ mirror: name, configs: mirror.configs }, async (source) => {
    await checkedClusterId(source, name, mirror.spec.sourceClusterId)
    const clusters = { mirror: name, source, destination: context.destination }
    const verification = new Verification(clusters, { ...options, seed, now: context.now() })
    const partitions = await verification.run(await pairTopics(clusters, mirror, topics))
    return {
      mirror: name,
      equal: partitions.every(({ result }) => result === 'equal'),
      seed,
      partitions,
      warnings: verification.warnings,
    }
  })
}

/** Throws MirrorError (usage). */
function checkOptions({ from = 0n, to, sample, seed, bufferBytes }: VerifyMirrorOptions): void {
  const wrong = (message: string) => usageError('INVALID_REQUEST', message)
  if (from < 0n || from > LAST_OFFSET) throw wrong(`'${from}' is not an offset to begin at`)
  if (to !== undefined && to > LAST_OFFSET) throw wrong(`'${to}' is not an offset to end before`)
  if (to !== undefined && to <= from) throw wrong(`there is no offset from ${from} up to, not including, ${to}`)
  if (sample !== undefined && !isBetween(sample, 1, MOST_STRETCHES)) throw wrong(`'${sample}' is not a number of stretches to compare`)
  if (seed !== undefined && !isBetween(seed, 0, 2 ** 32 - 1)) throw wrong(`'${seed}' is not a seed`)
  if (seed !== undefined && sample === undefined) throw wrong('a seed is for a sample')
  if (bufferBytes !== undefined && bufferBytes < LEAST_BUFFER_BYTES) throw wrong(`${bufferBytes} bytes are too few to compare in`)
}

const isBetween = (value: number, least: number, most: number) => Number.isSafeInteger(value) && least <= value && value <= most
