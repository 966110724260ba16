import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { filterOf, parsePattern, splitList } from '../../../src/mirror/filters.js'
import { selectTopics } from '../../../src/mirror/selection.js'

const name = fc.stringMatching(/^[a-zA-Z0-9._-]{1,20}$/)

describe('patterns', () => {
  it('takes every legal name for itself and nothing else', () => {
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(parsePattern(a).literal).toBe(true)
        expect(parsePattern(a).matches(b)).toBe(a === b)
      }),
    )
  })

  it('matches a regex against the whole name', () => {
    const pattern = parsePattern('a.*|b')
    expect(['a', 'abc', 'b'].every((text) => pattern.matches(text))).toBe(true)
    expect(['xa', 'bc', ''].some((text) => pattern.matches(text))).toBe(false)
  })

  it('does not take the dot of a name for a wildcard', () => {
    expect(parsePattern('my.internal').matches('myxinternal')).toBe(false)
    expect(parsePattern('a.b').matches('a_b')).toBe(false)
  })

  it('names a regex that cannot be read', () => {
    expect(() => parsePattern('a(')).toThrow(/'a\(' is neither a name nor a regular expression/)
  })
})

describe('splitList', () => {
  it('splits on commas outside of groups', () => {
    expect(splitList(' a , b{1,3},[x,y]z,,(c,d)|e\\,f ')).toEqual(['a', 'b{1,3}', '[x,y]z', '(c,d)|e\\,f'])
    expect(splitList('')).toEqual([])
  })
})

describe('filterOf', () => {
  it('lets an exclude win', () => {
    const filter = filterOf(['.*'], ['__.*', 'secret'])
    expect(['_app', 'a', '__x', 'secret', 'secrets'].filter((text) => filter.passes(text))).toEqual(['_app', 'a', 'secrets'])
    expect(filterOf([], []).passes('a')).toBe(false)
  })
})

describe('selectTopics', () => {
  const existing = ['b', 'a1', 'a2', '__internal', '_app']

  it('excludes from patterns only', () => {
    expect(selectTopics(['a.*', '__internal', 'a1'], ['__.*', 'a1'], existing)).toEqual({
      topics: ['__internal', 'a1', 'a2'],
      missing: [],
      unmatched: [],
    })
    expect(selectTopics(['.*'], ['__.*'], existing).topics).toEqual(['_app', 'a1', 'a2', 'b'])
  })

  it('tells missing names from patterns without a match', () => {
    expect(selectTopics(['c', 'c.*'], [], existing)).toEqual({ topics: [], missing: ['c'], unmatched: ['c.*'] })
  })
})
