import type { KafkaField } from './kafka-schemas.js'

/**
 * An independent writer of Kafka's messages for tests, driven by Kafka's own JSON schemas and sharing no code with
 * `src/protocol`, so that neither can hide the other's mistakes. Every field must be given.
 */
export function encodeByKafkaSchema(fields: readonly KafkaField[], version: number, flexible: boolean, message: object): Buffer {
  const values = message as Record<string, unknown>
  const parts: Buffer[] = []
  const tagged: { tag: number; body: Buffer }[] = []
  for (const field of fields.filter((f) => includes(f.versions, version))) {
    const value = values[camelCase(field.name)]
    const body = () => encodeField(field, version, flexible, value)
    if (!includes(field.taggedVersions, version)) parts.push(body())
    else if (!isKafkaDefault(field, value)) tagged.push({ tag: field.tag!, body: body() })
  }
  if (flexible) {
    parts.push(varint(tagged.length))
    for (const { tag, body } of tagged.sort((a, b) => a.tag - b.tag)) parts.push(varint(tag), varint(body.length), body)
  }
  return Buffer.concat(parts)
}

/** Whether a range as in Kafka's schemas (`2`, `0-4`, `3+`, `none`) has `version`. */
export function includes(range: string | undefined, version: number): boolean {
  const parts = /^(\d+)(\+|-(\d+))?$/.exec(range ?? 'none')
  if (parts === null) return false
  const from = Number(parts[1])
  const to = parts[2] === '+' ? Number.POSITIVE_INFINITY : Number(parts[3] ?? from)
  return from <= version && version <= to
}

/** Kafka's generator turns `TimeoutMs` into `timeoutMs`. */
export const camelCase = (name: string) => name[0]!.toLowerCase() + name.slice(1)

/** The value a field has in Kafka's generated classes when nobody sets it; undefined for structs. */
export function kafkaDefault({ type, default: given }: KafkaField): unknown {
  if (given === 'null') return null
  if (type.startsWith('[]')) return []
  if (type === 'string') return given ?? ''
  if (type === 'uuid') return '00000000-0000-0000-0000-000000000000'
  if (type === 'bool') return String(given) === 'true'
  if (type === 'int64') return BigInt(String(given ?? 0))
  return /^u?int|^float/.test(type) ? Number(given ?? 0) : undefined
}

function isKafkaDefault(field: KafkaField, value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0 && field.default !== 'null'
  if (field.type.startsWith('[]') || field.fields === undefined) return value === kafkaDefault(field)
  const inner = value as Record<string, unknown>
  return field.fields.every((f) => isKafkaDefault(f, inner[camelCase(f.name)]))
}

function encodeField(field: KafkaField, version: number, flexible: boolean, value: unknown): Buffer {
  const lengthOf = (n: number, plainSize: 2 | 4) => (flexible ? varint(n + 1) : number(n, plainSize))
  const plainSize = field.type === 'string' ? 2 : 4
  if (value === null) {
    if (!includes(field.nullableVersions, version)) throw new Error(`${field.name} is null in version ${version}`)
    return lengthOf(-1, plainSize)
  }
  if (field.type === 'string') return prefixed(Buffer.from(value as string, 'utf8'), lengthOf, plainSize)
  if (field.type === 'bytes') return prefixed(value as Buffer, lengthOf, plainSize)
  if (field.type === 'records') return prefixed(Buffer.concat(value as Buffer[]), lengthOf, plainSize)
  if (field.type.startsWith('[]')) {
    const { nullableVersions: _, ...rest } = field
    const element = { ...rest, type: field.type.slice(2) }
    const items = (value as unknown[]).map((item) => encodeField(element, version, flexible, item))
    return Buffer.concat([lengthOf(items.length, plainSize), ...items])
  }
  if (field.fields !== undefined) return encodeByKafkaSchema(field.fields, version, flexible, value as object)
  return fixed(field.type, value)
}

function prefixed(content: Buffer, lengthOf: (n: number, plainSize: 2 | 4) => Buffer, plainSize: 2 | 4): Buffer {
  return Buffer.concat([lengthOf(content.length, plainSize), content])
}

function fixed(type: string, value: unknown): Buffer {
  if (type === 'bool') return Buffer.from([value ? 1 : 0])
  if (type === 'uuid') return Buffer.from((value as string).replace(/-/g, ''), 'hex')
  if (type === 'float64') {
    const view = new DataView(new ArrayBuffer(8))
    view.setFloat64(0, value as number)
    return Buffer.from(view.buffer)
  }
  return number(value as number | bigint, Number(/\d+/.exec(type)![0]) / 8)
}

/** Big endian two's complement. */
function number(value: number | bigint, size: number): Buffer {
  const hex = BigInt.asUintN(size * 8, BigInt(value)).toString(16)
  return Buffer.from(hex.padStart(size * 2, '0'), 'hex')
}

function varint(value: number): Buffer {
  return value < 128 ? Buffer.from([value]) : Buffer.concat([Buffer.from([(value % 128) + 128]), varint(Math.floor(value / 128))])
}
