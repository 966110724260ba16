import { describe, expect, it } from 'vitest'
import { Slots } from '../../../src/engine/slots.js'

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('slots', () => {
  it('are given to so many at once, the others in their order', async () => {
    const slots = new Slots(2)
    const order: number[] = []
    const releases: Array<() => void> = []
    const takers = [0, 1, 2, 3].map(async (taker) => {
      releases[taker] = await slots.acquire()
      order.push(taker)
    })
    await turn()
    expect(order).toEqual([0, 1])
    releases[1]!()
    await turn()
    expect(order).toEqual([0, 1, 2])
    releases[0]!()
    releases[2]!()
    await Promise.all(takers)
    expect(order).toEqual([0, 1, 2, 3])
    releases[3]!()
    const again = await Promise.all([slots.acquire(), slots.acquire()])
    let third = false
    void slots.acquire().then(() => {
      third = true
    })
    await turn()
    expect(third).toBe(false)
    for (const release of again) release()
    await turn()
    expect(third).toBe(true)
  })
})
