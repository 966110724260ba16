import { decodeResponse, Produce, WriteTxnMarkers } from '../../src/protocol/index.js'
import type { LateRequest } from './proxy.js'

/** What a broker said about one partition of a request that came late. */
export interface LateAnswer {
  readonly errorCode: number
  /** Of a Produce, −1 otherwise. */
  readonly baseOffset: bigint
}

/** The answers to a late Produce or WriteTxnMarkers, one for each partition and marker. */
export function lateAnswers({ apiKey, apiVersion, answer }: LateRequest): LateAnswer[] {
  // The header of a flexible response ends with its tagged fields: none.
  if (apiKey === Produce.key) {
    const { responses } = decodeResponse(Produce, apiVersion, answer.subarray(apiVersion >= Produce.flexible ? 1 : 0))
    return responses.flatMap((topic) => topic.partitionResponses)
  }
  if (apiKey !== WriteTxnMarkers.key) throw new Error(`No answer of api ${apiKey} is read here`)
  const { markers } = decodeResponse(WriteTxnMarkers, apiVersion, answer.subarray(apiVersion >= WriteTxnMarkers.flexible ? 1 : 0))
  return markers
    .flatMap((marker) => marker.topics.flatMap((topic) => topic.partitions))
    .map(({ errorCode }) => ({ errorCode, baseOffset: -1n }))
}
