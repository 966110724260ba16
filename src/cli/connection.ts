import { wrongUse } from './errors.js'
import { parseAssignment } from './lists.js'
import { readPropertyFile } from './property-file.js'
import type { Terminal } from './terminal.js'

export interface ConnectionFlags {
  readonly 'bootstrap-server'?: string | undefined
  readonly 'command-config'?: string | undefined
  readonly property?: readonly string[] | undefined
}

const PREFIX = 'KAFKA_MIRRORS_'

/** Variables with our prefix that are not client properties: flags of our own, and what oclif and the playground read. */
const OTHER_VARIABLES =
  /^(BOOTSTRAP_SERVERS?|COMMAND_CONFIG|DEBUG|NO_COLOR|CACHE.*|CONFIG_DIR|DATA_DIR|BINPATH|REDIRECTED|NPM_REGISTRY|DISABLE_THEME|CONTENT_TYPE|TEST_.*|PLAYGROUND_.*)$/

/**
 * The client properties of the cluster the command talks to.
 * Flag, then `-X`, then `KAFKA_MIRRORS_*`, then the file of `--command-config`: the first that has a key wins.
 *
 * @throws MirrorError (usage) for a file or an assignment that cannot be read, a `mirror.*` key, or when no server is named
 */
export async function connectionProperties(flags: ConnectionFlags, env: Terminal['env']): Promise<Map<string, string>> {
  const file = flags['command-config'] ?? env[`${PREFIX}COMMAND_CONFIG`]
  const flag = flags['command-config'] ? '--command-config' : `${PREFIX}COMMAND_CONFIG`
  const properties = new Map([
    ...(file ? await readPropertyFile(file, flag) : []),
    ...environmentProperties(env),
    ...(flags.property ?? []).map((item) => parseAssignment(item, '-X')),
  ])
  if (flags['bootstrap-server']) properties.set('bootstrap.servers', flags['bootstrap-server'])
  const foreign = [...properties.keys()].find((key) => key.startsWith('mirror.'))
  if (foreign)
    throw wrongUse(`${foreign} is a setting of a mirror, not of a connection`, 'set it with create --mirror-config or alter --add-config')
  if (!properties.get('bootstrap.servers')) {
    throw wrongUse('no Kafka cluster named', `give --bootstrap-server host:port or set ${PREFIX}BOOTSTRAP_SERVER`)
  }
  return properties
}

/** `KAFKA_MIRRORS_SASL_MECHANISM` is `sasl.mechanism`. Client keys have no underscore, so nothing is ambiguous. */
function environmentProperties(env: Terminal['env']): [key: string, value: string][] {
  const server = env[`${PREFIX}BOOTSTRAP_SERVER`] ?? env[`${PREFIX}BOOTSTRAP_SERVERS`]
  const others = Object.entries(env)
    .filter(([name, value]) => name.startsWith(PREFIX) && value && !OTHER_VARIABLES.test(name.slice(PREFIX.length)))
    .map(([name, value]): [string, string] => [name.slice(PREFIX.length).toLowerCase().replaceAll('_', '.'), value!])
  return server ? [...others, ['bootstrap.servers', server]] : others
}
