import { describe, expect, test } from 'vitest'
import { parseAssignments, splitLists } from '../../../src/cli/lists.js'

test('a flag given twice is one list without repetitions', () => {
  expect(splitLists(['b,a', 'a', ' c , x{1,2}'])).toEqual(['b', 'a', 'c', 'x{1,2}'])
  expect(splitLists(undefined)).toEqual([])
})

describe('assignments', () => {
  test.each([
    ['a=1,b=[x:1,y:2]', { a: '1', b: 'x:1,y:2' }],
    ['a=,b=x=y', { a: '', b: 'x=y' }],
    [
      'sasl.jaas.config=Plain required username="u" password="a,b";,c=1',
      { 'sasl.jaas.config': 'Plain required username="u" password="a,b";', c: '1' },
    ],
    ['a=1, ,b=2,', { a: '1', b: '2' }],
    ['a="unbalanced', { a: '"unbalanced' }],
    ['bootstrap.servers=[::1]:9092', { 'bootstrap.servers': '[::1]:9092' }],
  ])('%s', (text, pairs) => expect(Object.fromEntries(parseAssignments([text], '--add-config'))).toEqual(pairs))

  test('what is not an assignment is wrong use, and little of it is repeated', () => {
    expect(() => parseAssignments(['some-password-nobody-is-to-read'], '--add-config')).toThrow(
      "--add-config needs key=value, not 'some-password-nobody'",
    )
  })
})
