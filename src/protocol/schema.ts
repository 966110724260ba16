import type { InputOf, Output } from './shapes.js'
import { type Field, type Fields, type Struct, type StructType, struct } from './struct.js'
import {
  arrayType,
  boolType,
  bytesType,
  float64Type,
  int8Type,
  int16Type,
  int32Type,
  int64Type,
  recordsType,
  stringType,
  type Type,
  uint16Type,
  uint32Type,
  uuidType,
} from './types.js'
import { parseVersions, type VersionRange, type Versions } from './versions.js'

/**
 * Message layouts as data, after Kafka's own message schemas (`common/message/*.json`): one table of fields holds
 * every version we speak, and both directions, the TypeScript types and the conformance test read it.
 */

export type { Input, Output } from './shapes.js'
export { type Field, type Fields, type Struct, type StructType, struct } from './struct.js'
export { type ArrayType, NO_UUID, type Type } from './types.js'
export { parseVersions, type VersionRange, type Versions, within } from './versions.js'

export interface FieldOptions<T> {
  /** Versions in which null is allowed. */
  readonly nullable?: Versions
  /** Tagged field number (KIP-482); absent for ordinary fields. */
  readonly tag?: number
  readonly taggedVersions?: Versions
  /** Makes the field optional when writing, and is what reading gives where the version lacks it. */
  readonly default?: T
}

/** A field without a default must be given when writing. */
type Make<T> = {
  (versions: Versions, options: FieldOptions<T | null> & { nullable: Versions; default: T | null }): Field<T | null, true>
  (versions: Versions, options: FieldOptions<T | null> & { nullable: Versions }): Field<T | null, false>
  (versions: Versions, options: FieldOptions<T> & { default: T }): Field<T, true>
  (versions: Versions, options?: FieldOptions<T>): Field<T, false>
}

function maker<T>(type: Type<T>): Make<T> {
  return ((versions: Versions, options: FieldOptions<T> = {}) => ({
    type,
    versions: parseVersions(versions),
    nullable: options.nullable === undefined ? undefined : parseVersions(options.nullable),
    tag: options.tag,
    taggedVersions: options.taggedVersions === undefined ? undefined : parseVersions(options.taggedVersions),
    defaultValue: options.default === undefined ? type.zero : options.default,
    optional: options.default !== undefined,
  })) as Make<T>
}

export const int8 = maker(int8Type)
export const int16 = maker(int16Type)
export const uint16 = maker(uint16Type)
export const int32 = maker(int32Type)
export const uint32 = maker(uint32Type)
export const int64 = maker(int64Type)
export const float64 = maker(float64Type)
export const bool = maker(boolType)
export const string = maker(stringType)
export const uuid = maker(uuidType)
export const bytes = maker(bytesType)
export const records = maker(recordsType)

/** An array of structs given by their fields. */
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<readonly Struct<F>[] | null> & { nullable: Versions; default: readonly [] | null },
): Field<readonly Struct<F>[] | null, true>
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<readonly Struct<F>[] | null> & { nullable: Versions },
): Field<readonly Struct<F>[] | null, false>
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<readonly Struct<F>[]> & { default: readonly [] },
): Field<readonly Struct<F>[], true>
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options?: FieldOptions<readonly Struct<F>[]>,
): Field<readonly Struct<F>[], false>
export function arrayOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options?: FieldOptions<readonly Struct<F>[] | null>,
): Field<readonly Struct<F>[] | null> {
  return (maker(arrayType(struct(fields))) as (v: Versions, o?: unknown) => Field<readonly Struct<F>[]>)(versions, options)
}

/** A single struct inside a message. The default `{}` is the struct with the defaults of all its fields. */
export function structOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<Struct<F> | null> & { nullable: Versions; default: null },
): Field<Struct<F> | null, true>
export function structOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options: FieldOptions<Struct<F>> & { default: Record<string, never> },
): Field<Struct<F>, true>
export function structOf<F extends Fields>(versions: Versions, fields: F, options?: FieldOptions<Struct<F>>): Field<Struct<F>, false>
export function structOf<F extends Fields>(
  versions: Versions,
  fields: F,
  options?: FieldOptions<Struct<F> | null>,
): Field<Struct<F> | null> {
  const type = struct(fields)
  const field = (maker(type) as (v: Versions, o?: unknown) => Field<Struct<F>>)(versions, options)
  return field.defaultValue === null ? field : { ...field, defaultValue: type.zero }
}

/** Arrays of primitives. */
export const arrayOfInt32 = maker(arrayType(int32Type))
export const arrayOfInt64 = maker(arrayType(int64Type))
export const arrayOfInt8 = maker(arrayType(int8Type))
export const arrayOfString = maker(arrayType(stringType))
export const arrayOfUuid = maker(arrayType(uuidType))

/** One Kafka API: its key and name, the versions we speak, the first flexible one, and both layouts. */
export interface Api<Q extends Fields = Fields, S extends Fields = Fields> {
  readonly key: number
  readonly name: string
  readonly versions: VersionRange
  readonly flexible: number
  readonly request: StructType<Q>
  readonly response: StructType<S>
}

export type RequestOf<A> = A extends Api<infer Q, Fields> ? InputOf<Q> : never
export type ResponseOf<A> = A extends Api<Fields, infer S> ? Output<Struct<S>> : never

/** Defines an API. `versions` are those we speak, both ends included; `flexible` is as in Kafka's schema: `none` or `N+`. */
export function api<Q extends Fields, S extends Fields>(definition: {
  key: number
  name: string
  versions: Versions
  flexible: Versions | 'none'
  request: Q
  response: S
}): Api<Q, S> {
  return {
    key: definition.key,
    name: definition.name,
    versions: parseVersions(definition.versions),
    flexible: definition.flexible === 'none' ? Number.POSITIVE_INFINITY : parseVersions(definition.flexible).min,
    request: struct(definition.request),
    response: struct(definition.response),
  }
}
