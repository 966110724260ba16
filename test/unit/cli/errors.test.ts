import { describe, expect, test } from 'vitest'
import { errorLine, InterruptedError, reportError, wrongUse } from '../../../src/cli/errors.js'
import { asTyped } from '../../../src/cli/program-name.js'
import { nearest, VERB_WORDS } from '../../../src/cli/verbs.js'
import { failure } from '../../../src/mirror/errors.js'

describe('an error becomes one line and an exit code', () => {
  test.each([
    ['wrong use', wrongUse('no', 'do this'), 'no — do this', 2],
    ['a failure', failure('UNKNOWN_MIRROR', 'there is no mirror m', 'List shows them.'), 'there is no mirror m — list shows them', 1],
    ['anything with advice', Object.assign(new Error('refused'), { advice: 'start it' }), 'refused — start it', 1],
    ['a bad client property', Object.assign(new Error('x must be y'), { name: 'ConfigError' }), 'x must be y', 2],
    ['many lines', new Error('rights are missing:\n  READ\n  WRITE'), 'rights are missing: READ WRITE', 1],
    ['no message', new TypeError(), 'TypeError', 1],
    ['not even an error', 'oops', 'oops', 1],
    ['an interrupt', new InterruptedError(), undefined, 130],
  ])('%s', (_, error, line, exitCode) => expect(reportError(error)).toEqual({ line, exitCode }))

  test('capitals that mean something stay', () => {
    expect(errorLine({ message: 'a', advice: 'ACLs.' })).toBe('a — ACLs')
  })
})

test.each([
  ['lst', 'list'],
  ['creat', 'create'],
  ['DESCRIBE', 'describe'],
  ['statr', 'start'],
  ['xyzzy', undefined],
])('nearest verb to %s', (typed, verb) => expect(nearest(typed, VERB_WORDS)).toBe(verb))

test.each([
  ['/home/u/kafka-mirrors/bin/run.js', 'node bin/run.js'],
  ['/home/u/project/node_modules/.bin/kafka-mirrors', 'npx kafka-mirrors'],
  ['/usr/local/bin/kafka-mirrors', 'kafka-mirrors'],
])('called as %s it is typed as %s', (script, typed) => expect(asTyped(script, '/home/u/kafka-mirrors')).toBe(typed))
