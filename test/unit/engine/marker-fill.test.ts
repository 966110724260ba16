import { describe, expect, it } from 'vitest'
import { writeTxnMarkers } from '../../../src/client/admin.js'
import type { Cluster } from '../../../src/client/cluster.js'
import { Fenced, LostPlace, PartitionFailure, Realign } from '../../../src/engine/errors.js'
import { fillWithMarkers, type MarkerFillPort } from '../../../src/engine/marker-fill.js'
import { Errors } from '../../../src/protocol/errors.js'

interface MarkersRequest {
  markers: Array<{ producerId: bigint; producerEpoch: number; coordinatorEpoch: number; transactionResult: boolean; topics: unknown }>
}

function setUp(options: { logEnd?: bigint; errorCode?: number; appearAfter?: number; mayAppend?: (requests: number) => boolean } = {}) {
  const requests: MarkersRequest[] = []
  const sendOptions: unknown[] = []
  let logEnd = options.logEnd ?? 10n
  let looks = 0
  let landed = 0n
  const cluster = {
    leader: async (_topic: string, _partition: number, api: { name: string }, request: never, sent: unknown) => {
      if (api.name === 'WriteTxnMarkers') {
        requests.push(request)
        sendOptions.push(sent)
        if (options.errorCode === undefined) landed += BigInt((request as MarkersRequest).markers.length)
        return { markers: [{ topics: [{ partitions: [{ errorCode: options.errorCode ?? 0 }] }] }] }
      }
      if (looks++ >= (options.appearAfter ?? 0)) {
        logEnd += landed
        landed = 0n
      }
      return { topics: [{ partitions: [{ errorCode: 0, offset: logEnd }] }] }
    },
  } as unknown as Cluster
  const port: MarkerFillPort = {
    cluster,
    topic: 'orders',
    partition: 1,
    leaderEpoch: 3,
    producerId: 71n,
    producerEpoch: 0,
    ownerEpoch: 9,
    isFirst: false,
    mayAppend: () => options.mayAppend?.(requests.length) ?? true,
    lane: { write: (markers) => writeTxnMarkers(cluster, markers).then(() => undefined) },
  }
  return { port, requests, sendOptions, foreign: (records: bigint) => (logEnd += records), logEnd: () => logEnd }
}

describe('filling with markers', () => {
  it('writes one marker an offset under the owner epoch, in requests of a bounded size, never sent twice', async () => {
    const { port, requests, sendOptions, logEnd } = setUp()
    await fillWithMarkers(port, 10n, 4_500)
    expect(requests.map(({ markers }) => markers.length)).toEqual([2_000, 2_000, 500])
    expect(requests[0]!.markers[0]).toEqual({
      producerId: 71n,
      producerEpoch: 0,
      coordinatorEpoch: 9,
      transactionResult: true,
      topics: [{ name: 'orders', partitionIndexes: [1] }],
    })
    expect(sendOptions).toEqual(Array.from({ length: 3 }, () => ({ retry: false })))
    expect(logEnd()).toBe(4_510n)
  })

  it('is over only when the log end shows the markers', async () => {
    const { port, logEnd } = setUp({ appearAfter: 7 })
    await fillWithMarkers(port, 10n, 3)
    expect(logEnd()).toBe(13n)
  })

  it('believes the answer to a single marker, which saves a round trip for each end of a transaction', async () => {
    const { port } = setUp({ appearAfter: Number.POSITIVE_INFINITY })
    await fillWithMarkers(port, 10n, 1)
  })

  it('shuts an earlier owner out with one marker, sent alone, before it fills the rest', async () => {
    const { port, requests, logEnd } = setUp()
    await fillWithMarkers({ ...port, isFirst: true }, 10n, 2_500)
    expect(requests.map(({ markers }) => markers.length)).toEqual([1, 2_000, 499])
    expect(logEnd()).toBe(2_510n)
  })

  it('sends nothing where an earlier owner has gone on meanwhile', async () => {
    const { port, requests } = setUp({ logEnd: 13n })
    await expect(fillWithMarkers({ ...port, isFirst: true }, 10n, 3)).rejects.toThrow(Realign)
    expect(requests).toEqual([])
  })

  it('fails when an earlier owner’s marker landed beside the first', async () => {
    const { port, requests, foreign } = setUp({ mayAppend: () => foreign(3n) > 0n })
    await expect(fillWithMarkers({ ...port, isFirst: true }, 10n, 3)).rejects.toThrow(PartitionFailure)
    expect(requests.length).toBe(1)
  })

  it('fails when the log end is further than the markers put it', async () => {
    const { port, foreign } = setUp()
    foreign(1n)
    await expect(fillWithMarkers(port, 10n, 3)).rejects.toThrow(PartitionFailure)
  })

  it.each([Errors.TRANSACTION_COORDINATOR_FENCED, Errors.INVALID_PRODUCER_EPOCH])(
    'is fenced by a newer owner or a failover (%i)',
    async (errorCode) => {
      const { port } = setUp({ errorCode })
      await expect(fillWithMarkers(port, 10n, 3)).rejects.toThrow(Fenced)
    },
  )

  it('passes on what the broker says otherwise', async () => {
    const { port } = setUp({ errorCode: Errors.NOT_LEADER_OR_FOLLOWER })
    await expect(fillWithMarkers(port, 10n, 3)).rejects.toMatchObject({ kafkaName: 'NOT_LEADER_OR_FOLLOWER' })
  })

  it('stops between two requests when the right to append is lost', async () => {
    const { port, requests } = setUp({ mayAppend: (sent) => sent < 2 })
    await expect(fillWithMarkers(port, 10n, 10_000)).rejects.toThrow(LostPlace)
    expect(requests.length).toBe(2)
  })
})
