import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { readZip } from './zip.js'

/** One field of Kafka's message schemas, as in its JSON; fields of common structs are resolved. */
export interface KafkaField {
  readonly name: string
  /** `int32`, `[]string`, or a struct's name. */
  readonly type: string
  readonly versions: string
  readonly nullableVersions?: string
  readonly tag?: number
  readonly taggedVersions?: string
  readonly default?: string | number | boolean
  readonly fields?: readonly KafkaField[]
}

export interface KafkaMessage {
  readonly apiKey: number
  readonly name: string
  readonly validVersions: string
  readonly flexibleVersions: string
  readonly latestVersionUnstable?: boolean
  readonly fields: readonly KafkaField[]
  readonly commonStructs?: readonly { readonly name: string; readonly fields: readonly KafkaField[] }[]
}

/** Kafka's message schemas by name, such as `FetchRequest`, out of the kafka-clients jar of a release. */
export function loadKafkaSchemas(release: string): Map<string, KafkaMessage> {
  const files = readZip(clientsJar(release), (name) => /^common\/message\/\w+(Request|Response)\.json$/.test(name))
  // Messages that Kafka has given up have neither versions nor fields.
  const messages = [...files.values()].map(parse).filter((message) => message.fields !== undefined)
  return new Map(messages.map((message) => [message.name, withCommonStructs(message)]))
}

const parse = (file: Buffer) => JSON.parse(file.toString('utf8').replace(/^\s*\/\/.*$/gm, '')) as KafkaMessage

function withCommonStructs(message: KafkaMessage): KafkaMessage {
  const common = new Map(message.commonStructs?.map((struct) => [struct.name, struct.fields]))
  const resolve = (field: KafkaField): KafkaField => {
    const fields = field.fields ?? common.get(field.type.replace('[]', ''))
    return fields === undefined ? field : { ...field, fields: fields.map(resolve) }
  }
  return { ...message, fields: message.fields.map(resolve) }
}

/** The jar from the local Maven repository, or else through Maven. */
function clientsJar(release: string): Buffer {
  const name = `kafka-clients-${release}.jar`
  const repository = process.env.MAVEN_REPO_LOCAL ?? join(homedir(), '.m2', 'repository')
  const local = join(repository, 'org', 'apache', 'kafka', 'kafka-clients', release, name)
  if (existsSync(local)) return readFileSync(local)
  const directory = mkdtempSync(join(tmpdir(), 'kafka-schemas-'))
  try {
    const artifact = `-Dartifact=org.apache.kafka:kafka-clients:${release}`
    execFileSync('mvn', ['-q', '-B', 'dependency:copy', artifact, `-DoutputDirectory=${directory}`], { stdio: 'inherit' })
    return readFileSync(join(directory, name))
  } finally {
    rmSync(directory, { recursive: true })
  }
}
