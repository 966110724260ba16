import type { Cluster } from '../client/cluster.js'
import { hasReference } from '../client/config-references.js'
import { parseJaas } from '../client/jaas.js'
import { checkConfigs, mirrorConfigOf } from '../mirror/config.js'
import { failure, MirrorError, usageError } from '../mirror/errors.js'
import { about, DESTINATION, sourceOf } from '../mirror/failures.js'
import { isLiteral } from '../mirror/filters.js'
import { MirrorState } from '../mirror/fold.js'
import { checkName } from '../mirror/names.js'
import { isSecret } from '../mirror/secrets.js'
import { selectTopics } from '../mirror/selection.js'
import { put } from '../mirror/spec-store.js'
import { STATE_TOPIC } from '../mirror/state-topic.js'
import { entriesOf, type ServiceContext } from './context.js'
import { eraseStatuses } from './erase-statuses.js'
import { type MissingRight, missingCreateRight, missingDestinationRights, missingSourceRights, refuseMissingRights } from './rights.js'
import { checkSource, openSource } from './source-connection.js'
import type { CreateMirrorOptions, CreateMirrorResult, TextMap } from './types.js'

/** See {@link MirrorAdmin.createMirror}. */
export async function createMirror(
  context: ServiceContext,
  name: string,
  given: TextMap,
  options: CreateMirrorOptions,
): Promise<CreateMirrorResult> {
  const configs = entriesOf(given)
  checkName('mirror', name)
  checkConfigs(configs)
  if (!configs.get('bootstrap.servers')?.trim()) {
    throw usageError('INVALID_CONFIG', `mirror ${name} needs bootstrap.servers`, 'It names brokers of the source, like localhost:9092.')
  }
  const { source, unknownKeys } = await about(sourceOf(name), undefined, async () => opened(name, configs, options))
  try {
    refuseExisting(await stateIfReadable(context), name)
    const sourceClusterId = source && (await about(sourceOf(name), undefined, () => otherClusterId(context, source, name)))
    refuseMissingRights([
      ...(source === undefined ? [] : await about(sourceOf(name), undefined, () => sourceRights(source, configs))),
      ...(await about(DESTINATION, undefined, () => destinationRights(context.destination, configs))),
    ])
    const warnings = [...unknownKeyWarnings(unknownKeys), ...settingWarnings(configs)]
    if (options.dryRun) await context.store.ensure({ validateOnly: true })
    else await write(context, name, configs, sourceClusterId)
    return { mirror: name, sourceClusterId, warnings }
  } finally {
    await source?.close()
  }
}

function opened(mirror: string, configs: ReadonlyMap<string, string>, { offline }: CreateMirrorOptions) {
  if (offline) return { source: undefined, unknownKeys: checkSource({ mirror, configs }) }
  const { cluster, unknownKeys } = openSource({ mirror, configs })
  return { source: cluster, unknownKeys }
}

async function write(
  context: ServiceContext,
  name: string,
  configs: Map<string, string>,
  sourceClusterId: string | undefined,
): Promise<void> {
  const { store, destination } = context
  await store.ensure()
  // Only now can the broker tell the rights on the topic if it was not there before.
  refuseMissingRights(await about(DESTINATION, undefined, () => destinationRights(destination, configs)))
  // Of an earlier mirror of the name, whose runner was too late to learn of its end.
  await eraseStatuses(context, name)
  const records = [
    put({ kind: 'mirror', mirror: name }, { sourceClusterId, createdAt: context.now() }),
    ...[...configs].map(([key, value]) => put({ kind: 'config', mirror: name, key }, { value })),
  ]
  await store.update((state) => {
    refuseExisting(state, name)
    return { records, result: undefined }
  })
}

/** Without the rights to read it the state is empty here: the check of rights that follows lists what is missing. */
export async function stateIfReadable({ store }: ServiceContext): Promise<MirrorState> {
  try {
    return await store.read()
  } catch (error) {
    if (error instanceof MirrorError && error.code === 'RIGHTS_MISSING') return new MirrorState()
    throw error
  }
}

async function destinationRights(destination: Cluster, configs: ReadonlyMap<string, string>): Promise<MissingRight[]> {
  // By default every rule is taken, as far as the rights go; whoever lists rules means them.
  const acls = configs.has('mirror.acl.include') && mirrorConfigOf(configs).aclInclude.length > 0
  const [missing, create] = await Promise.all([
    missingDestinationRights(destination, { topics: [], stateTopics: [STATE_TOPIC], acls }),
    missingCreateRight(destination, STATE_TOPIC),
  ])
  return [...missing, ...create]
}

function refuseExisting(state: MirrorState, name: string): void {
  if (state.mirror(name) === undefined) return
  throw failure('MIRROR_EXISTS', `mirror ${name} already exists`, 'Change it with alter, or choose another name.')
}

/** The source's cluster id. Throws MirrorError SAME_CLUSTER if it is the destination itself. */
async function otherClusterId(context: ServiceContext, source: Cluster, name: string): Promise<string> {
  const [there, here] = await Promise.all([source.clusterId(), context.destination.clusterId()])
  if (there !== here) return there
  throw failure(
    'SAME_CLUSTER',
    `source and destination of mirror ${name} are the same cluster (${here})`,
    'bootstrap.servers of the mirror must lead to another cluster than --bootstrap-server.',
  )
}

/** Rights on what discovery would find, and on groups; topics given to `add` are checked then. */
async function sourceRights(source: Cluster, configs: ReadonlyMap<string, string>): Promise<MissingRight[]> {
  const config = mirrorConfigOf(configs)
  const visible = config.topicsInclude.length === 0 ? [] : [...(await source.topics()).values()].filter(({ internal }) => !internal)
  const { topics } = selectTopics(
    config.topicsInclude,
    config.topicsExclude,
    visible.map(({ name }) => name),
  )
  // Rights on patterns cannot be asked for; a name that nobody has stands for "any group".
  const groups = config.groupsInclude.flatMap((entry) => (isLiteral(entry) ? [entry] : entry === '.*' ? ['*'] : []))
  return missingSourceRights(source, { topics, groups })
}

export const unknownKeyWarnings = (keys: readonly string[]): string[] =>
  keys.map((key) => `${key} is not a client property that is known here; it is stored and ignored`)

/** A user name that is a reference does not hide the password beside it. */
function isClear(key: string, value: string): boolean {
  if (!hasReference(value)) return true
  if (key !== 'sasl.jaas.config') return false
  try {
    return !hasReference(parseJaas(value).options.get('password') ?? value)
  } catch {
    // All of it, or its form, comes from a config provider.
    return false
  }
}

/** Every warning that settings as given deserve. */
export function settingWarnings(configs: ReadonlyMap<string, string>): string[] {
  const secrets = [...configs].filter(([key, value]) => isSecret(key) && isClear(key, value)).map(([key]) => key)
  if (secrets.length === 0) return []
  return [`${secrets.join(', ')} ${secrets.length === 1 ? 'is' : 'are'} stored in clear: whoever may read topic ${STATE_TOPIC} can see it`]
}
