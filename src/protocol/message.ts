import { Reader } from './reader.js'
import type { Api, Fields, Output, RequestOf, ResponseOf, Struct, StructType } from './schema.js'
import { Writer } from './writer.js'

/** A request's body (no header) as a list of buffers; record sets in it are not copied. */
export function encodeRequest<A extends Api>(api: A, version: number, request: RequestOf<A>): Buffer[] {
  return encode(api.request, api, version, request)
}

/** Reads a response's body (no header). Byte fields and record sets are views into `body`. */
export function decodeResponse<A extends Api>(api: A, version: number, body: Buffer): ResponseOf<A> {
  return decode(api.response, api, version, body) as ResponseOf<A>
}

/** The other direction of {@link encodeRequest}, for fake brokers and tests. */
export function decodeRequest<A extends Api>(
  api: A,
  version: number,
  body: Buffer,
): Output<Struct<A extends Api<infer Q, Fields> ? Q : never>> {
  return decode(api.request, api, version, body) as never
}

/** The other direction of {@link decodeResponse}, for fake brokers and tests. */
export function encodeResponse<A extends Api>(api: A, version: number, response: unknown): Buffer[] {
  return encode(api.response, api, version, response)
}

function encode(type: StructType<Fields>, api: Api, version: number, value: unknown): Buffer[] {
  const writer = new Writer()
  type.write(writer, value as Struct<Fields>, version, version >= api.flexible)
  return writer.finish()
}

function decode(type: StructType<Fields>, api: Api, version: number, body: Buffer): unknown {
  return type.read(new Reader(body), version, version >= api.flexible)
}
