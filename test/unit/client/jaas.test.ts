import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { credentialsOf, parseJaas } from '../../../src/client/jaas.js'

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule'
const SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule'

const read = (text: string) => {
  const { username, password } = credentialsOf(parseJaas(text))
  return [username, password.reveal()]
}

test.each([
  [`${PLAIN} required username="alice" password="secret";`, ['alice', 'secret']],
  [`${SCRAM} required username=alice password='se"cret' ;`, ['alice', 'se"cret']],
  [`${PLAIN} REQUIRED\n  username = "a b"\n  password="x\\"y\\\\z\\t\\101";`, ['a b', 'x"y\\z\tA']],
  [`${PLAIN} required username="alice" password="se;cr=et" serviceName="kafka";`, ['alice', 'se;cr=et']],
  [`${PLAIN} /* who */ required // yes\n username="alice" password="secret";`, ['alice', 'secret']],
  [`${PLAIN} required username="=" password=";";`, ['=', ';']],
])('%s', (text, expected) => {
  expect(read(text)).toEqual(expected)
})

test.each([
  ['', 'is empty'],
  [`${PLAIN} required username="alice" password="hunter2"`, "must end with ';'"],
  [`${PLAIN} username="alice" password="hunter2";`, 'must read'],
  [`${PLAIN} required username="alice" password="hunter2`, 'a quote that is never closed'],
  [`${PLAIN} required username="alice" password;`, 'option 2 is not of the form'],
  [`${PLAIN} required username= password="hunter2";`, 'not of the form'],
  [`${PLAIN} required username="alice";`, 'has no password='],
  [`${PLAIN} required password="hunter2";`, 'has no username='],
  [`${PLAIN} required username="a" password="hunter2"; ${PLAIN} required;`, 'exactly one login module'],
  ['com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;', 'PlainLoginModule and ScramLoginModule are supported'],
  [`${SCRAM} required username="a" password="hunter2" tokenauth="true";`, 'delegation tokens'],
])('%s is refused without showing the password', (text, message) => {
  expect(() => read(text)).toThrow(message)
  expect(() => read(text)).toThrow(/^((?!hunter2).)*$/)
})

test('any password survives the quoting Java users need', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (password) => {
      const quoted = password.replace(/[\\"]/g, '\\$&')
      expect(read(`${PLAIN} required username="u" password="${quoted}";`)).toEqual(['u', password])
    }),
  )
})

test('a password never shows', () => {
  const credentials = credentialsOf(parseJaas(`${PLAIN} required username="alice" password="hunter2";`))
  for (const shown of [inspect(credentials, { showHidden: true }), JSON.stringify(credentials), `${credentials.password}`]) {
    expect(shown).not.toContain('hunter2')
    expect(shown).toContain('[hidden]')
  }
})
