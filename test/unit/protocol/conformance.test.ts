import { deepStrictEqual } from 'node:assert'
import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeRequest, encodeResponse } from '../../../src/protocol/index.js'
import { type ArrayType, type Field, type Fields, type StructType, type Type, within } from '../../../src/protocol/schema.js'
import { apis, versionsOf } from '../../support/apis.js'
import { arbitraryMessage } from '../../support/arbitrary-message.js'
import { camelCase, encodeByKafkaSchema, includes, kafkaDefault } from '../../support/kafka-encoder.js'
import { type KafkaField, type KafkaMessage, loadKafkaSchemas } from '../../support/kafka-schemas.js'

/** Versions that the newest Kafka has dropped and older brokers need; its schemas still describe their fields. */
const DROPPED: Readonly<Record<string, number>> = { WriteTxnMarkers: 0 }

/** Defaults that differ from Kafka's on purpose; the tables say why. */
const OWN_DEFAULTS = new Set(['Metadata.allowAutoTopicCreation', 'OffsetForLeaderEpoch.replicaId'])

const schemas = loadKafkaSchemas('4.4.0')

it('every table is exported', () => {
  expect(apis.length).toBe(readdirSync(new URL('../../../src/protocol/api', import.meta.url)).length)
})

describe.each(apis.map((api) => [api.name, api] as const))('%s', (name, api) => {
  const directions = [
    { layout: api.request, kafka: schemas.get(`${name}Request`)! },
    { layout: api.response, kafka: schemas.get(`${name}Response`)! },
  ]

  it('has the key, stable versions and flexible versions of Kafka', () => {
    for (const { kafka } of directions) {
      expect(kafka.apiKey).toBe(api.key)
      for (const version of versionsOf(api)) {
        if (DROPPED[name] !== version) expect(isStable(kafka, version), `version ${version}`).toBe(true)
        expect(version >= api.flexible, `flexible ${version}`).toBe(includes(kafka.flexibleVersions, version))
      }
    }
  })

  it('has the fields of Kafka', () => {
    for (const { layout, kafka } of directions) {
      for (const version of versionsOf(api)) {
        expect(ourLines(layout, version), `${kafka.name} ${version}`).toEqual(kafkaLines(kafka.fields, version))
      }
    }
  })

  it('has the defaults of Kafka', () => {
    for (const { layout, kafka } of directions) {
      for (const version of versionsOf(api)) compareDefaults(name, layout, kafka.fields, version)
    }
  })

  it('writes the bytes that an encoder driven by the schemas of Kafka writes', () => {
    for (const [i, { layout, kafka }] of directions.entries()) {
      for (const version of versionsOf(api)) {
        const property = fc.property(arbitraryMessage(layout, version, false), (message) => {
          const encode = i === 0 ? encodeRequest : encodeResponse
          const ours = Buffer.concat(encode(api, version, message as never))
          deepStrictEqual(ours, encodeByKafkaSchema(kafka.fields, version, version >= api.flexible, message))
        })
        fc.assert(property, { numRuns: 20 })
      }
    }
  })
})

function isStable(kafka: KafkaMessage, version: number): boolean {
  return includes(kafka.validVersions, version) && !(kafka.latestVersionUnstable && !includes(kafka.validVersions, version + 1))
}

/** One line per field that is on the wire in `version`, in order: path, type, nullability, tag. */
function ourLines(type: StructType<Fields>, version: number, path = ''): string[] {
  return Object.entries(type.fields).flatMap(([name, field]) => {
    if (!within(field.versions, version)) return []
    // Record sets may always be null, and are then read as empty.
    const nullable = field.type.label === 'records' ? 'maybe' : within(field.nullable, version)
    const struct = structIn(field.type)
    const tag = within(field.taggedVersions, version) ? field.tag : undefined
    const own = line(`${path}${name}`, field.type.label, nullable, tag)
    return [own, ...(struct === undefined ? [] : ourLines(struct, version, `${path}${name}.`))]
  })
}

function kafkaLines(fields: readonly KafkaField[], version: number, path = ''): string[] {
  return fields.flatMap((field) => {
    if (!includes(field.versions, version)) return []
    const name = `${path}${camelCase(field.name)}`
    const type = field.fields === undefined ? field.type : field.type.startsWith('[]') ? '[]struct' : 'struct'
    const nullable = field.type === 'records' ? 'maybe' : includes(field.nullableVersions, version)
    const tag = includes(field.taggedVersions, version) ? field.tag : undefined
    return [line(name, type, nullable, tag), ...kafkaLines(field.fields ?? [], version, `${name}.`)]
  })
}

const line = (...[path, type, nullable, tag]: [string, string, boolean | 'maybe', number | undefined]) =>
  `${path}: ${type}${nullable ? ' nullable' : ''}${tag === undefined ? '' : ` tag ${tag}`}`

function structIn(type: Type<unknown>): StructType<Fields> | undefined {
  const element = 'element' in type ? (type as ArrayType<unknown>).element : type
  return 'fields' in element ? (element as StructType<Fields>) : undefined
}

/**
 * Fields that callers may leave out have the default that Kafka's schema names, and tagged fields have Kafka's in any case:
 * one that is left out of the bytes stands for it.
 */
function compareDefaults(api: string, type: StructType<Fields>, fields: readonly KafkaField[], version: number): void {
  for (const kafka of fields.filter((field) => includes(field.versions, version))) {
    const name = camelCase(kafka.name)
    const ours: Field<unknown> = type.fields[name]!
    const named = kafka.default !== undefined && ours.optional && !OWN_DEFAULTS.has(`${api}.${name}`)
    const expected = kafkaDefault(kafka)
    if (expected !== undefined && (named || includes(kafka.taggedVersions, version))) expect(ours.defaultValue, name).toEqual(expected)
    if (kafka.fields !== undefined) compareDefaults(api, structIn(ours.type)!, kafka.fields, version)
  }
}
