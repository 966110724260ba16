import { wrongUse } from './errors.js'
import { findVerb, VERB_WORDS } from './verbs.js'

const INFORMATION = ['--help', '-h', '--version']

/**
 * Turns the flags of the KIP's `kafka-mirrors.sh` into the arguments of `kafka-mirrors`: `--create --mirror m` becomes
 * `create --mirror m`. Everything that is not a verb stays as and where it is.
 *
 * `--entity-type` is how the KIP's throttling lines (written for `kafka-configs.sh`) are told apart: it always means
 * `throttle`, and `--alter` or `--describe` beside it are then flags of that verb.
 *
 * @throws MirrorError (usage) when no verb or more than one is given
 */
export function rewriteKipArguments(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  const flags = end === -1 ? argv : argv.slice(0, end)
  if (flags.some((flag) => flag === '--entity-type' || flag.startsWith('--entity-type='))) {
    return ['throttle', ...argv.filter((flag) => flag !== '--throttle')]
  }

  const given = [...new Set(flags.filter(isVerb))]
  const verbs = [...new Set(given.map((flag) => findVerb(flag.slice(2))!.name))]
  if (verbs.length > 1) throw wrongUse(`${given.join(' and ')} cannot be given together`, `one verb at a time: ${verbList()}`)
  if (verbs.length === 1) return [verbs[0]!, ...argv.filter((flag, index) => !isVerb(flag) || (end !== -1 && index > end))]
  if (flags.some((flag) => INFORMATION.includes(flag))) return [...argv]
  throw wrongUse('no verb given', `use one of ${verbList()}`)
}

function isVerb(flag: string): boolean {
  return flag.startsWith('--') && findVerb(flag.slice(2)) !== undefined
}

function verbList(): string {
  return VERB_WORDS.map((word) => `--${word}`).join(' ')
}
