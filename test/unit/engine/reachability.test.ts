import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Reachability } from '../../../src/engine/reachability.js'

describe('reachability', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('says up at once while nothing is known to be wrong', async () => {
    const probe = vi.fn()
    await new Reachability(probe).whenUp()
    expect(probe).not.toHaveBeenCalled()
  })

  it('asks once for all who wait, about once a minute over an hour of outage, and wakes them together', async () => {
    let up = false
    const probe = vi.fn(async () => {
      if (!up) throw new Error('down')
    })
    const reachability = new Reachability(probe)
    let woken = 0
    for (let partition = 0; partition < 300; partition++) {
      reachability.down()
      void reachability.whenUp().then(() => woken++)
    }
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(probe.mock.calls.length).toBeGreaterThanOrEqual(60)
    expect(probe.mock.calls.length).toBeLessThanOrEqual(135)
    expect(woken).toBe(0)
    up = true
    await vi.advanceTimersByTimeAsync(60_000)
    expect(woken).toBe(300)
    const before = probe.mock.calls.length
    await vi.advanceTimersByTimeAsync(600_000)
    expect(probe.mock.calls.length).toBe(before)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('gives up when it is closed, and lets everybody go', async () => {
    const reachability = new Reachability(() => Promise.reject(new Error('down')))
    reachability.down()
    let woken = false
    void reachability.whenUp().then(() => {
      woken = true
    })
    await vi.advanceTimersByTimeAsync(5_000)
    reachability.close()
    await vi.advanceTimersByTimeAsync(0)
    expect(woken).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
    reachability.down()
    await reachability.whenUp()
  })
})
