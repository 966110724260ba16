import { describe, expect, it } from 'vitest'
import { Ownership } from '../../../src/engine/ownership.js'

const turn = () => new Promise((resolve) => setImmediate(resolve))

function setUp() {
  const committed = new Map<number, bigint>()
  const commits: string[] = []
  const gate: { wait: Promise<void> | undefined; error: Error | undefined } = { wait: undefined, error: undefined }
  const group = {
    committed: async (shards: readonly number[]) => new Map([...committed].filter(([shard]) => shards.includes(shard))),
    commit: async (offsets: ReadonlyMap<number, bigint>) => {
      await gate.wait
      if (gate.error !== undefined) throw gate.error
      for (const [shard, epoch] of offsets) {
        committed.set(shard, epoch)
        commits.push(`${shard}:${epoch}`)
      }
    },
  }
  return { ownership: new Ownership(group, async (shard) => 100 + shard), committed, commits, gate }
}

describe('owner epochs', () => {
  it('are one above the committed one, or above all that was ever used where nothing is committed', async () => {
    const { ownership, committed } = setUp()
    committed.set(1, 7n)
    await ownership.take([1, 2])
    expect([ownership.epochOf(1), ownership.epochOf(2), ownership.count]).toEqual([8, 102, 2])
    expect(committed).toEqual(
      new Map([
        [1, 8n],
        [2, 102n],
      ]),
    )
    await ownership.take([1])
    expect(ownership.epochOf(1)).toBe(9)
  })

  it('are not held when the group refuses the commit', async () => {
    const { ownership, gate } = setUp()
    gate.error = new Error('ILLEGAL_GENERATION')
    await expect(ownership.take([1])).rejects.toThrow('ILLEGAL_GENERATION')
    expect([ownership.holds(1), ownership.epochOf(1)]).toEqual([false, -1])
    gate.error = undefined
    await ownership.take([1])
    expect(ownership.holds(1)).toBe(true)
  })

  it('only grow, however many renewals overlap', async () => {
    const { ownership, commits } = setUp()
    await ownership.take([1])
    const seen: number[] = []
    await Promise.all([1, 2, 3].map(() => ownership.renew(1).then(() => seen.push(ownership.epochOf(1)))))
    expect(seen).toEqual([102, 103, 104])
    expect(commits).toEqual(['1:101', '1:102', '1:103', '1:104'])
  })

  it('do not make a shard ours again that was lost while one was renewed', async () => {
    const { ownership, gate } = setUp()
    await ownership.take([1])
    let open = () => {}
    gate.wait = new Promise((resolve) => {
      open = resolve
    })
    const renewal = ownership.renew(1)
    await turn()
    ownership.drop([1])
    open()
    await expect(renewal).rejects.toThrow('no longer this runner')
    expect([ownership.holds(1), ownership.count]).toEqual([false, 0])
    await expect(ownership.renew(1)).rejects.toThrow('no longer this runner')
  })

  it('stay known while partitions on their way out still write under them, but take no new ones up', async () => {
    const { ownership } = setUp()
    await ownership.take([1, 2])
    ownership.giveUp([1])
    expect([ownership.holds(1), ownership.epochOf(1), ownership.holds(2)]).toEqual([false, 101, true])
    ownership.drop([1])
    expect(ownership.epochOf(1)).toBe(-1)
    await ownership.take([1])
    expect([ownership.holds(1), ownership.epochOf(1)]).toEqual([true, 102])
  })
})
