import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { configHelp } from '../../../src/cli/config-help.js'
import { mirrorConfigOf } from '../../../src/mirror/config.js'
import { CONFIG_DEFINITIONS, type ConfigDefinition } from '../../../src/mirror/config-definitions.js'
import { root } from '../../support/cli.js'

const PAGE = join(root, 'docs/configuration.md')

const code = (text: string) =>
  text === ''
    ? 'empty'
    : text
        .split(',')
        .map((part) => `\`${part.replaceAll('|', '\\|')}\``)
        .join(', ')

/** The page as the table of the program has it. */
function page(): string {
  const rows = Object.entries<ConfigDefinition>(CONFIG_DEFINITIONS).map(
    ([key, { type, default: value, allowed, doc }]) => `| \`${key}\` | ${type} | ${code(value)} | ${allowed} | ${doc} |`,
  )
  return `# Settings of a mirror

The properties file of \`create --mirror-config\`, and what \`alter --add-config\` sets, hold two kinds of settings: the client properties of the mirror's
source (\`bootstrap.servers\`, \`security.protocol\`, \`sasl.*\`, \`ssl.*\`, as a Java client takes them; see [secrets kept elsewhere](config-providers.md)),
and these:

| key | type | default | takes | |
|---|---|---|---|---|
${rows.join('\n')}

A list has commas between its entries; those inside \`()\`, \`[]\` or \`{}\` belong to a regular expression, which has to match the whole name. What contains
none of \`\\^$*+?()[]{}|\` is a name: the dot is an ordinary character in it. A changed setting is in force within moments, without a restart;
\`alter --delete-config\` takes one back to its default. \`add --topics\` and \`--exclude\` add to \`mirror.topics.include\` and \`mirror.topics.exclude\`.

## Settings of topics

The source's own settings of a topic (not its brokers' defaults) are set on the destination's as they change, minus those excluded. One that
the source has no more is taken away again if the destination still has the source's value; what was set on the destination alone stays. What the
destination does not know or refuses is shown by \`describe\`; the rest is applied.

Some are *held* until failover, since they would harm old data or its copying: \`retention.ms\`, \`retention.bytes\`, \`cleanup.policy\`, \`compression.type\`,
\`message.timestamp.*\` and \`max.message.bytes\`. Their real values follow the source too, are shown by \`describe -o wide\`, and applied at failover.
`
}

it('docs/configuration.md is what the table of settings says', () => {
  if (process.env.UPDATE === '1') writeFileSync(PAGE, page())
  expect(existsSync(PAGE) && readFileSync(PAGE, 'utf8')).toBe(page())
})

it('every default is a value that is allowed, in the page and in the help', () => {
  const help = configHelp()
  for (const [key, definition] of Object.entries<ConfigDefinition>(CONFIG_DEFINITIONS)) {
    expect([key, definition.check(definition.default)]).toEqual([key, true])
    expect(help).toContain(`${key}=${definition.default}\n`)
  }
  expect(Object.values(mirrorConfigOf(new Map())).every((value) => value !== undefined && !Number.isNaN(value))).toBe(true)
})
