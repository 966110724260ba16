import { expect, it } from 'vitest'
import { failed, type Result, success } from '../../../src/client/admin.js'
import { LostPlace } from '../../../src/engine/errors.js'
import { MarkerLane, type WantedMarkers } from '../../../src/engine/marker-lane.js'

const wanted = (partition: number, more: Partial<WantedMarkers> = {}): WantedMarkers => ({
  topic: 't',
  partition,
  leaderEpoch: 0,
  producerId: BigInt(partition),
  producerEpoch: 0,
  coordinatorEpoch: 1,
  count: 1,
  mayAppend: () => true,
  ...more,
})

function setUp() {
  const requests: { readonly partitions: number[]; answer(results: Array<Result<void>>): void; fail(error: Error): void }[] = []
  const looked: number[][] = []
  const lane = new MarkerLane({
    write: (markers) =>
      new Promise((answer, fail) => {
        requests.push({ partitions: markers.map(({ partition }) => partition), answer, fail })
      }),
    logEnds: async (partitions) => {
      looked.push(partitions.map(({ partition }) => partition))
      return partitions.map(({ partition }) => (partition === 9 ? failed(new Error('not the leader')) : success(BigInt(partition * 100))))
    },
  })
  return { lane, requests, looked }
}

it('sends what is wanted in one turn, or during a request, together', async () => {
  const { lane, requests } = setUp()
  const first = Promise.all([lane.write(wanted(0)), lane.write(wanted(1))])
  await Promise.resolve()
  const second = [lane.write(wanted(2)), lane.write(wanted(0))]
  expect(requests.map(({ partitions }) => partitions)).toEqual([[0, 1]])
  requests[0]!.answer([success(undefined), success(undefined)])
  await first
  await Promise.resolve()
  expect(requests.map(({ partitions }) => partitions)).toEqual([
    [0, 1],
    [2, 0],
  ])
  requests[1]!.answer([failed(new Error('not the leader')), success(undefined)])
  await expect(second[0]).rejects.toThrow('not the leader')
  await second[1]
})

it('tells everybody that a request was lost, and goes on', async () => {
  const { lane, requests } = setUp()
  const lost = [lane.write(wanted(0)), lane.write(wanted(1))]
  await Promise.resolve()
  requests[0]!.fail(new Error('gone'))
  for (const one of lost) await expect(one).rejects.toThrow('gone')
  const next = lane.write(wanted(1))
  await Promise.resolve()
  requests[1]!.answer([success(undefined)])
  await next
})

it('asks whether it may right before it sends', async () => {
  const { lane, requests } = setUp()
  let may = true
  const first = lane.write(wanted(0))
  await Promise.resolve()
  const late = lane.write(wanted(1, { mayAppend: () => may }))
  may = false
  requests[0]!.answer([success(undefined)])
  await first
  await expect(late).rejects.toThrow(LostPlace)
  expect(requests.length).toBe(1)
})

it('looks where the log ends behind several markers, which one answer says too little about', async () => {
  const { lane, requests, looked } = setUp()
  const writes = [wanted(1), wanted(2, { count: 3 }), wanted(9, { count: 2 })].map((one) => lane.write(one))
  await Promise.resolve()
  requests[0]!.answer([success(undefined), success(undefined), success(undefined)])
  expect(await Promise.all(writes)).toEqual([undefined, 200n, undefined])
  expect(looked).toEqual([[2, 9]])
})
