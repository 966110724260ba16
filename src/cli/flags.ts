import * as Flags from '@oclif/core/flags'

/** Flags of every verb that prints a result. */
export const outputFlags = {
  output: Flags.string({
    char: 'o',
    options: ['table', 'wide', 'json'],
    default: 'table',
    description: 'how to print the result',
    helpGroup: 'OUTPUT',
  }),
  json: Flags.boolean({ default: false, description: 'short for -o json; offsets are strings, so they stay exact', helpGroup: 'OUTPUT' }),
  'no-headers': Flags.boolean({ default: false, description: 'leave the line of column names out', helpGroup: 'OUTPUT' }),
}

/** Flags of every verb. */
export const commonFlags = {
  'no-color': Flags.boolean({ default: false, description: 'no colours, as NO_COLOR does', helpGroup: 'OUTPUT' }),
  debug: Flags.boolean({ default: false, description: 'show the stack of an error', helpGroup: 'OUTPUT' }),
}

/** How the destination cluster is reached: it holds the mirrors. */
export const connectionFlags = {
  'bootstrap-server': Flags.string({
    helpValue: 'HOST:PORT,…',
    description: 'destination cluster; `:9094` is localhost (KAFKA_MIRRORS_BOOTSTRAP_SERVER)',
    helpGroup: 'CONNECTION',
  }),
  'command-config': Flags.string({
    helpValue: 'FILE',
    description: 'Java client properties: security.protocol, sasl.*, ssl.* (KAFKA_MIRRORS_COMMAND_CONFIG)',
    helpGroup: 'CONNECTION',
  }),
  property: Flags.string({
    char: 'X',
    multiple: true,
    multipleNonGreedy: true,
    helpValue: 'KEY=VALUE',
    description: 'a client property; before the environment (KAFKA_MIRRORS_SASL_MECHANISM is sasl.mechanism), which is before the file',
    helpGroup: 'CONNECTION',
  }),
}

export const dryRunFlag = { 'dry-run': Flags.boolean({ default: false, description: 'check and show what would be done, change nothing' }) }

export const yesFlag = { yes: Flags.boolean({ default: false, char: 'y', description: 'answer the question before it is asked' }) }

export const divergenceFlag = (what: string) => ({
  'on-divergence': Flags.option({ options: ['reseed'] as const })({ description: `reseed: ${what}; wants --yes` }),
})
/** What to say without a terminal of a reseed that `--yes` was not given for. */
export const RESEED = '--on-divergence reseed replaces topics and'

/** Its value may be left out: commands give `optionalValues` for that. */
export const waitFlag = (condition: string) => ({
  wait: Flags.string({ helpValue: '30s', description: `wait until ${condition}, at most this long (default 30s)` }),
})

/** Of what lets topics go. */
export const confirmationWaitFlag = {
  wait: Flags.string({
    helpValue: '30s',
    description: "wait this long for the runner's word before fencing (without the flag: its session timeout and 5s)",
  }),
}

export const mirrorFlag = { mirror: Flags.string({ required: true, helpValue: 'NAME', description: 'name of the mirror' }) }

/** Of a flag that takes several names, by commas or repetition. */
const severalNames = { multiple: true, multipleNonGreedy: true, helpValue: 'NAME' } as const

/** What to add: for now, or for ever. */
export const additionFlags = {
  topic: Flags.string({
    ...severalNames,
    description: 'topic, or a regular expression for the whole name; lists with commas, repeatable',
  }),
  topics: Flags.string({
    ...severalNames,
    description: 'as --topic, and topics that match later are added when they appear (kept as mirror.topics.include)',
  }),
}

/** Narrows a verb that is about all topics of a mirror to some; `more` is added to the description. */
export const onlyTopicsFlag = (more = '') => ({
  topic: Flags.string({ ...severalNames, description: `only these topics: names, or regular expressions for the whole name${more}` }),
})
