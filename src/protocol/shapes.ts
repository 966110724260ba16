import type { Field, Fields, Struct } from './struct.js'

/** What a message looks like in TypeScript, worked out from its table. */

type Simplify<T> = { [K in keyof T]: T[K] } & {}
type ValueOf<F> = F extends Field<infer T> ? T : never
type RequiredKeys<F extends Fields> = { [K in keyof F]: F[K] extends Field<unknown, false> ? K : never }[keyof F]
type OptionalKeys<F extends Fields> = Exclude<keyof F, RequiredKeys<F>>

/** What is given to write a message: fields with a default may be left out, at every depth. */
export type Input<T> = T extends bigint | number | string | boolean | Buffer | null | undefined
  ? T
  : T extends readonly Buffer[]
    ? T
    : T extends readonly (infer E)[]
      ? readonly Input<E>[]
      : T extends Struct<infer F>
        ? InputOf<F>
        : never

/** What is given to write a struct of these fields. */
export type InputOf<F extends Fields> = Simplify<
  { readonly [K in RequiredKeys<F>]: Input<ValueOf<F[K]>> } & { readonly [K in OptionalKeys<F>]?: Input<ValueOf<F[K]>> }
>

/** What reading a message gives: every field, with its default where the version lacks it. */
export type Output<T> = T extends bigint | number | string | boolean | Buffer | null | undefined
  ? T
  : T extends readonly Buffer[]
    ? Buffer
    : T extends readonly (infer E)[]
      ? readonly Output<E>[]
      : T extends Struct<infer F>
        ? Simplify<{ readonly [K in keyof F]: Output<ValueOf<F[K]>> }>
        : never
