export interface PemBlock {
  readonly label: string
  /** The block in canonical form, lines of 64 characters. */
  readonly text: string
}

const BLOCK = /-+BEGIN\s+([A-Z0-9 ]+?)-+\s*([\s\S]*?)-+END\s+\1-+/g

/**
 * The blocks of PEM text. Values typed into a properties file lose their line ends when continued by a backslash,
 * which Kafka's PemStore reads all the same, so the body is wrapped again.
 */
export function pemBlocks(text: string): PemBlock[] {
  return [...text.matchAll(BLOCK)].map(([whole, label, body]) => {
    // Old encrypted keys carry headers (RFC 1421), which need their own lines.
    const wrapped = body!.includes(':') ? whole : wrap(label!, body!.replace(/\s+/g, ''))
    return { label: label!, text: `${wrapped}\n` }
  })
}

export const isCertificate = (block: PemBlock): boolean => /CERTIFICATE$/.test(block.label)
export const isPrivateKey = (block: PemBlock): boolean => /PRIVATE KEY$/.test(block.label)
export const joinBlocks = (blocks: readonly PemBlock[]): string => blocks.map((block) => block.text).join('')

const wrap = (label: string, base64: string) =>
  [`-----BEGIN ${label}-----`, ...(base64.match(/.{1,64}/g) ?? []), `-----END ${label}-----`].join('\n')
