/** A value that a config provider holds, as the text of a setting names it: `${env:NAME}`, `${file:path:key}`, `${directory:path:key}`. */
export interface ConfigReference {
  /** The whole of it, from `${` to `}`. */
  readonly text: string
  readonly provider: string
  /** Empty where the provider has no paths. */
  readonly path: string
  readonly key: string
}

export const CONFIG_PROVIDERS = ['env', 'file', 'directory'] as const
export type ConfigProviderName = (typeof CONFIG_PROVIDERS)[number]

/** Longest part of a reference that is repeated in a sentence. */
const SHOWN = 120

/**
 * Finds the references in a value, as Kafka's ConfigTransformer does: `${provider:[path:]key}`, where provider and path end at the
 * first colon each and none holds a `}`. Its regular expression takes cubic time on a long value full of colons; this is linear.
 */
export function referencesIn(value: string): ConfigReference[] {
  return piecesOf(value).filter((piece): piece is ConfigReference => typeof piece !== 'string')
}

export const hasReference = (value: string): boolean => referencesIn(value).length > 0

/** The value with every reference replaced, each once: what comes out of a provider is not looked at again. */
export function replaceReferences(value: string, fill: (reference: ConfigReference) => string): string {
  return piecesOf(value)
    .map((piece) => (typeof piece === 'string' ? piece : fill(piece)))
    .join('')
}

/** What is wrong with a reference as it is written, or undefined. */
export function faultOf({ provider, path, key }: ConfigReference): string | undefined {
  if (!CONFIG_PROVIDERS.some((name) => name === provider))
    return `there is no config provider ${provider}, only ${CONFIG_PROVIDERS.join(', ')}`
  if (key === '') return 'it names no key'
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what users write
  if (provider === 'env') return path === '' ? undefined : 'it must read ${env:NAME}'
  if (path === '') return `it must read \${${provider}:path:key}`
  if (!path.startsWith('/')) return 'its path must be absolute: commands and runners start in different folders'
  if (provider === 'directory' && (/\//.test(key) || key === '.' || key === '..')) return 'its key must be the name of a file in the folder'
  return undefined
}

/** A reference as sentences show it: whoever alters a mirror writes it, and sentences end up on terminals. */
export function shownReference({ text }: ConfigReference): string {
  const plain = text.replace(/\p{Cc}/gu, '?')
  return plain.length > SHOWN ? `${plain.slice(0, SHOWN)}…` : plain
}

function piecesOf(value: string): (string | ConfigReference)[] {
  const pieces: (string | ConfigReference)[] = []
  let done = 0
  for (let at = value.indexOf('${'); at !== -1; ) {
    const end = value.indexOf('}', at)
    if (end === -1) break
    const reference = referenceOf(value.slice(at, end + 1))
    if (reference !== undefined) {
      pieces.push(value.slice(done, at), reference)
      done = end + 1
    }
    at = value.indexOf('${', end)
  }
  pieces.push(value.slice(done))
  return pieces
}

/** Undefined for text that only looks like one, such as a password: Kafka leaves what names none of its providers as it is. */
function referenceOf(text: string): ConfigReference | undefined {
  const inside = text.slice(2, -1)
  const first = inside.indexOf(':')
  const provider = inside.slice(0, first)
  if (first === -1 || !/^[a-zA-Z][\w.-]*$/.test(provider)) return undefined
  const second = inside.indexOf(':', first + 1)
  if (second === -1) return { text, provider, path: '', key: inside.slice(first + 1) }
  return { text, provider, path: inside.slice(first + 1, second), key: inside.slice(second + 1) }
}
