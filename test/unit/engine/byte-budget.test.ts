import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ByteBudget, Slab } from '../../../src/engine/byte-budget.js'

const MIB = 1 << 20
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('the byte budget', () => {
  it('lets all fetchers together ask for at most its second half, down to a mebibyte each', () => {
    const budget = new ByteBudget(64 * MIB)
    expect(budget.fetchMaxBytes).toBe(8 * MIB - 64 * 1024)
    for (let fetchers = 1; fetchers <= 32; fetchers++) {
      budget.addFetcher()
      expect(budget.fetchMaxBytes * fetchers).toBeLessThanOrEqual(32 * MIB)
    }
    budget.addFetcher()
    expect(budget.fetchMaxBytes).toBe(MIB)
    for (let fetchers = 0; fetchers < 32; fetchers++) budget.removeFetcher()
    expect(budget.fetchMaxBytes).toBe(8 * MIB - 64 * 1024)
  })

  it('holds fetchers back above its first half, and wakes all of them below', async () => {
    const budget = new ByteBudget(100)
    const slab = new Slab(budget, 50)
    let woken = 0
    for (let i = 0; i < 3; i++) void budget.whenOpen().then(() => woken++)
    await turn()
    expect([budget.open, woken]).toEqual([false, 0])
    slab.release()
    await turn()
    expect([budget.open, woken, budget.usedBytes]).toEqual([true, 3, 0])
  })

  it('takes another limit under those who wait', async () => {
    const budget = new ByteBudget(100)
    budget.take(60)
    let woken = false
    void budget.whenOpen().then(() => {
      woken = true
    })
    budget.setLimit(110)
    await turn()
    expect(woken).toBe(false)
    budget.setLimit(200)
    await turn()
    expect([woken, budget.open]).toEqual([true, true])
  })

  it('keeps those waiting that a wake-up does not concern', async () => {
    const budget = new ByteBudget(100)
    budget.take(60)
    let closed = false
    const woken: string[] = []
    void budget.whenOpen().then(() => woken.push('patient'))
    void budget.whenOpen(() => closed).then(() => woken.push('closed'))
    closed = true
    budget.wakeAll()
    await turn()
    expect(woken).toEqual(['closed'])
    budget.release(20)
    await turn()
    expect(woken).toEqual(['closed', 'patient'])
  })
})

describe('a slab', () => {
  it('counts until the last view of it is let go, and is then used again once', () => {
    fc.assert(
      fc.property(fc.nat(10), fc.boolean(), (views, lingers) => {
        const budget = new ByteBudget(1_000)
        let recycled = 0
        const slab = new Slab(budget, 300, () => recycled++)
        for (let i = 0; i < views; i++) slab.retain()
        if (lingers) slab.linger()
        slab.release()
        for (let i = 0; i < views; i++) {
          expect([budget.usedBytes, recycled]).toEqual([300, 0])
          slab.release()
        }
        // While a socket may still read from it, its memory is left to the garbage collector.
        expect([budget.usedBytes, recycled]).toEqual([0, lingers ? 0 : 1])
      }),
    )
  })
})
