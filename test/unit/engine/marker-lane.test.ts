import { expect, it } from 'vitest'
import { failed, type Marker, type Result, success } from '../../../src/client/admin.js'
import { LostPlace } from '../../../src/engine/errors.js'
import { MarkerLane } from '../../../src/engine/marker-lane.js'

const marker = (partition: number): Marker => ({
  topic: 't',
  partition,
  producerId: BigInt(partition),
  producerEpoch: 0,
  coordinatorEpoch: 1,
})
const always = () => true

function setUp() {
  const requests: { readonly partitions: number[]; answer(results: Array<Result<void>>): void; fail(error: Error): void }[] = []
  const lane = new MarkerLane(
    (markers) =>
      new Promise((answer, fail) => {
        requests.push({ partitions: markers.map(({ partition }) => partition), answer, fail })
      }),
  )
  return { lane, requests }
}

it('sends what is wanted in one turn, or during a request, together', async () => {
  const { lane, requests } = setUp()
  const first = Promise.all([lane.write(marker(0), always), lane.write(marker(1), always)])
  await Promise.resolve()
  const second = [lane.write(marker(2), always), lane.write(marker(0), always)]
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
  const lost = [lane.write(marker(0), always), lane.write(marker(1), always)]
  await Promise.resolve()
  requests[0]!.fail(new Error('gone'))
  for (const one of lost) await expect(one).rejects.toThrow('gone')
  const next = lane.write(marker(1), always)
  await Promise.resolve()
  requests[1]!.answer([success(undefined)])
  await next
})

it('asks whether it may right before it sends', async () => {
  const { lane, requests } = setUp()
  let may = true
  const first = lane.write(marker(0), always)
  await Promise.resolve()
  const late = lane.write(marker(1), () => may)
  may = false
  requests[0]!.answer([success(undefined)])
  await first
  await expect(late).rejects.toThrow(LostPlace)
  expect(requests.length).toBe(1)
})
