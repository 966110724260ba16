import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Queue } from '../../../src/engine/queue.js'

test('gives what an array gives, whatever the order of calls', () => {
  const calls = fc.array(fc.oneof({ weight: 3, arbitrary: fc.nat() }, { weight: 2, arbitrary: fc.constantFrom('shift') }), {
    maxLength: 200,
  })
  fc.assert(
    fc.property(calls, (sequence) => {
      const queue = new Queue<number>()
      const model: number[] = []
      for (const call of sequence) {
        if (typeof call === 'string') expect(queue.shift()).toBe(model.shift())
        else {
          queue.push(call)
          model.push(call)
        }
        expect(queue.first).toBe(model[0])
        expect([...queue]).toEqual(model)
      }
    }),
  )
})

test('keeps nothing that was taken out of a long queue', () => {
  const queue = new Queue<number>()
  for (let i = 0; i < 5_000; i++) queue.push(i)
  for (let i = 0; i < 4_000; i++) expect(queue.shift()).toBe(i)
  expect([...queue]).toHaveLength(1_000)
  queue.clear()
  expect(queue.shift()).toBeUndefined()
})
