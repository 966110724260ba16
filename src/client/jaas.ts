import { ConfigError } from './errors.js'
import { Secret } from './secret.js'

export interface JaasLogin {
  /** Class name as given, for example `org.apache.kafka.common.security.plain.PlainLoginModule`. */
  readonly module: string
  readonly options: ReadonlyMap<string, string>
}

const KEY = 'sasl.jaas.config'
const FLAGS = ['required', 'requisite', 'sufficient', 'optional']
const ESCAPES: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/**
 * Reads the value of `sasl.jaas.config`: one login module, a control flag, options as `name="value"`, and a closing `;`
 * (Kafka: JaasConfig, a java.io.StreamTokenizer). Messages never quote the value, since it holds a password.
 *
 * @throws ConfigError
 */
export function parseJaas(text: string): JaasLogin {
  const tokens = tokenize(text)
  if (tokens.length === 0) throw new ConfigError(KEY, `${KEY} is empty`)
  if (tokens.at(-1)?.raw !== ';') throw new ConfigError(KEY, `${KEY} must end with ';'`)
  const [module, flag] = tokens
  if (flag === undefined || !FLAGS.includes(flag.text.toLowerCase())) {
    throw new ConfigError(KEY, `${KEY} must read '<login module> required username="…" password="…";'`)
  }
  const options = new Map<string, string>()
  for (let i = 2; i < tokens.length - 1; i += 3) {
    const [name, equals, value] = tokens.slice(i, i + 3)
    if (name?.raw === ';') throw new ConfigError(KEY, `${KEY} must hold exactly one login module`)
    if (equals?.raw !== '=' || value === undefined || value.raw === ';' || value.raw === '=') {
      throw new ConfigError(KEY, `${KEY}: option ${(i - 2) / 3 + 1} is not of the form name="value"`)
    }
    options.set(name!.text, value.text)
  }
  return { module: module!.text, options }
}

/**
 * User name and password of a Plain or Scram login module.
 *
 * @throws ConfigError when the module is another one or lacks either.
 */
export function credentialsOf(login: JaasLogin): { username: string; password: Secret } {
  if (!/(^|\.)(Plain|Scram)LoginModule$/.test(login.module)) {
    throw new ConfigError(KEY, `${KEY} names ${login.module}; PlainLoginModule and ScramLoginModule are supported`)
  }
  if (login.options.get('tokenauth')?.toLowerCase() === 'true') {
    throw new ConfigError(KEY, `${KEY}: delegation tokens (tokenauth) are not supported`)
  }
  const username = login.options.get('username')
  const password = login.options.get('password')
  if (username === undefined || username === '') throw new ConfigError(KEY, `${KEY} has no username="…"`)
  if (password === undefined || password === '') throw new ConfigError(KEY, `${KEY} has no password="…"`)
  return { username, password: new Secret(password) }
}

interface Token {
  readonly text: string
  /** `=` or `;` for punctuation; undefined for words and quoted values, which may look the same. */
  readonly raw?: '=' | ';'
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  const pattern = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|([=;])|"((?:\\[\s\S]|[^"\\])*)"|'((?:\\[\s\S]|[^'\\])*)'|([^\s=;"']+)/y
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text)
    if (match === null) throw new ConfigError(KEY, `${KEY} has a quote that is never closed`)
    const [, mark, double, single, word] = match
    const quoted = double ?? single
    if (mark !== undefined) tokens.push({ text: mark, raw: mark as '=' | ';' })
    else if (quoted !== undefined) tokens.push({ text: unescapeText(quoted) })
    else if (word !== undefined) tokens.push({ text: word })
  }
  return tokens
}

const unescapeText = (text: string) =>
  text.replace(/\\([0-3]?[0-7]{1,2}|[\s\S])/g, (_, c: string) =>
    /^[0-7]/.test(c) ? String.fromCharCode(Number.parseInt(c, 8)) : (ESCAPES[c] ?? c),
  )
