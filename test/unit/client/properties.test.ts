import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseProperties } from '../../../src/client/properties.js'

const parse = (text: string) => Object.fromEntries(parseProperties(text).entries)

// Expectations follow the examples in the documentation of java.util.Properties.load.
test.each([
  ['Truth = Beauty', { Truth: 'Beauty' }],
  ['  Truth:Beauty', { Truth: 'Beauty' }],
  ['Truth Beauty', { Truth: 'Beauty' }],
  ['Truth                    :Beauty', { Truth: 'Beauty' }],
  ['fruits   apple, banana, pear, \\\n     cantaloupe, watermelon', { fruits: 'apple, banana, pear, cantaloupe, watermelon' }],
  ['cheeses=', { cheeses: '' }],
  ['# a\n! b\n\n \t\na=1\r\nb=2\rc=3', { a: '1', b: '2', c: '3' }],
  ['a=x # not a comment', { a: 'x # not a comment' }],
  ['a=1\na=2', { a: '2' }],
  ['k\\=e\\:y\\ s=v', { 'k=e:y s': 'v' }],
  ['a=\\t\\n\\r\\f\\u00e9\\z', { a: '\t\n\r\féz' }],
  ['a=C:\\\\dir\\\\', { a: 'C:\\dir\\' }],
  ['a=b=c:d', { a: 'b=c:d' }],
  ['a=trailing  ', { a: 'trailing  ' }],
  ['a=ends\\', { a: 'ends' }],
  ['\uFEFFa=bom', { a: 'bom' }],
  ['# comment \\\na=1', { a: '1' }],
])('%j', (text, expected) => {
  expect(parse(text)).toEqual(expected)
})

test.each([
  ['a=1\n\njust-a-word', "line 3: 'just-a-word' has no '=' between key and value"],
  ['a=\\\n  b\nnoval', "line 3: 'noval'"],
  ['=value', 'line 1: has no key'],
  ['a=\\u12g4', 'line 1: has a \\u that is not followed by four hexadecimal digits'],
  ['a=1\n\u0000\u0001', 'line 2: holds binary data'],
])('%j is refused', (text, message) => {
  expect(() => parse(text)).toThrow(message)
})

test('a bad line is not repeated in full: it may be a secret', () => {
  expect(() => parse(`${'x'.repeat(20)}secret`)).toThrow(/^((?!secret).)*$/)
})

test('whatever a Java program stores is read back', () => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom(...' \t\n\r\f=:#!\\u"é€'), fc.string({ minLength: 1, maxLength: 1 })) })
  fc.assert(
    fc.property(fc.dictionary(text, text), (entries) => {
      const stored = Object.entries(entries)
        .map(([key, value]) => `${storeText(key, true)}=${storeText(value, false)}\n`)
        .join('')
      if (Object.keys(entries).some((key) => key === '')) return
      expect(parse(stored)).toEqual(entries)
    }),
  )
})

/** java.util.Properties.saveConvert */
function storeText(text: string, isKey: boolean): string {
  const named: Record<string, string> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\f': '\\f', '\\': '\\\\' }
  return text.replace(/[\s\S]/g, (c, index: number) => {
    if (c === ' ') return isKey || index === 0 ? '\\ ' : ' '
    if (named[c] !== undefined) return named[c]
    if ('=:#!'.includes(c)) return `\\${c}`
    return c < ' ' || c > '~' ? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}` : c
  })
}
