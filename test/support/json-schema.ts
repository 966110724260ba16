/** The part of JSON Schema that docs/schemas uses. */
export interface Schema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  pattern?: string
  minimum?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  anyOf?: Schema[]
}

/** Everything in `value` that the schema does not allow, as `path: what`. */
export function schemaErrors(schema: Schema, value: unknown, path = '$'): string[] {
  const wrong = (what: string) => [`${path}: ${what}`]
  if (schema.anyOf) {
    const tries = schema.anyOf.map((one) => schemaErrors(one, value, path))
    return tries.some((errors) => errors.length === 0) ? [] : tries.flat()
  }
  if ('const' in schema && value !== schema.const) return wrong(`is not ${JSON.stringify(schema.const)}`)
  if (schema.enum && !schema.enum.includes(value)) return wrong(`${JSON.stringify(value)} is none of ${JSON.stringify(schema.enum)}`)
  if (schema.type !== undefined && ![schema.type].flat().some((type) => isOfType(value, type))) return wrong(`is no ${schema.type}`)
  if (typeof value === 'string' && schema.pattern && !new RegExp(schema.pattern).test(value))
    return wrong(`does not match ${schema.pattern}`)
  if (typeof value === 'number' && schema.minimum !== undefined && value < schema.minimum) return wrong(`is below ${schema.minimum}`)
  if (Array.isArray(value))
    return value.flatMap((item, index) => (schema.items ? schemaErrors(schema.items, item, `${path}[${index}]`) : []))
  if (typeof value === 'object' && value !== null) return objectErrors(schema, value as Record<string, unknown>, path)
  return []
}

function objectErrors(schema: Schema, value: Record<string, unknown>, path: string): string[] {
  const missing = (schema.required ?? []).filter((key) => !(key in value)).map((key) => `${path}: ${key} is missing`)
  const others = Object.entries(value).flatMap(([key, item]) => {
    const known = schema.properties?.[key] ?? schema.additionalProperties
    if (known === false) return [`${path}: ${key} is unknown`]
    return typeof known === 'object' ? schemaErrors(known, item, `${path}.${key}`) : []
  })
  return [...missing, ...others]
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return typeof value === type
}
