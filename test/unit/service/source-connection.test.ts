import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { parseAllowedConfig } from '../../../src/client/allowed-config.js'
import { checkConfigs } from '../../../src/mirror/config.js'
import { withoutSecrets } from '../../../src/mirror/secrets.js'
import { settingWarnings } from '../../../src/service/create-mirror.js'
import { checkSource, openSource } from '../../../src/service/source-connection.js'

const folder = mkdtempSync(join(tmpdir(), 'source-connection-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.unstubAllEnvs())

const SECRET = 'hunter2'
const settings = (configs: Record<string, string>) => ({
  mirror: 'm',
  configs: new Map(Object.entries({ 'bootstrap.servers': 'localhost:9', ...configs })),
})
const refusal = (configs: Record<string, string>, allow?: string) => {
  try {
    openSource({ ...settings(configs), allowed: allow === undefined ? undefined : parseAllowedConfig([allow]) })
  } catch (error) {
    return (error as Error).message
  }
  return 'it was opened'
}

test.each([
  ['security.protocol', `\${env:MIRROR_SECRET}`],
  ['request.timeout.ms', `\${env:MIRROR_SECRET}`],
  ['bootstrap.servers', `\${env:MIRROR_SECRET}/x`],
])('a value from a config provider is not repeated when it cannot be used: %s', (key, value) => {
  vi.stubEnv('MIRROR_SECRET', SECRET)
  const message = refusal({ [key]: value }, 'env:MIRROR_*')
  expect(message).toBe(`${key} cannot be used with what \${env:MIRROR_SECRET} stands for, which is not shown`)
})

test.each<Record<string, string>>([
  { 'sasl.jaas.config': `\${env:MIRROR_SECRET} required username="a" password="b";` },
  { 'sasl.jaas.config': `x required \${env:MIRROR_SECRET}` },
  { 'sasl.mechanism': `\${env:MIRROR_SECRET}` },
  { 'ssl.truststore.location': `/nowhere/\${env:MIRROR_SECRET}` },
  { 'ssl.truststore.location': `${folder}/key`, 'ssl.truststore.type': `\${env:MIRROR_SECRET}` },
  { 'ssl.endpoint.identification.algorithm': `\${env:MIRROR_SECRET}` },
])('nor is it part of any other sentence: %j', (configs) => {
  vi.stubEnv('MIRROR_SECRET', SECRET)
  const plain = {
    'security.protocol': 'SASL_SSL',
    'sasl.mechanism': 'PLAIN',
    'sasl.jaas.config': 'x.PlainLoginModule required username="a" password="b";',
  }
  expect(refusal({ ...plain, ...configs })).toMatch(/^(?!.*hunter2).*cannot be used with what/)
})

test('a command resolves with the rights of its process, a runner only what it is allowed', async () => {
  writeFileSync(join(folder, 'source.properties'), 'servers=localhost:9\n')
  const configs = { 'bootstrap.servers': `\${file:${folder}/source.properties:servers}` }
  const { cluster } = openSource(settings(configs))
  expect(cluster.name).toBe('localhost:9')
  await cluster.close()
  expect(refusal(configs, `file:${folder}`)).toBe('it was opened')
  expect(refusal(configs, 'file:/nowhere')).toContain('run --allow-config')
})

test('what is told of a mistake in clear text stays as it is', () => {
  vi.stubEnv('MIRROR_SECRET', SECRET)
  expect(refusal({ 'security.protocol': 'TLS', 'client.id': `\${env:MIRROR_SECRET}` })).toMatch(/^security.protocol must be one of/)
})

test('without reaching the source, references need not be known here', () => {
  expect(checkSource(settings({ 'sasl.jaas.config': `\${file:/only/there:k}`, 'sasl.mechanisms': 'x' }))).toEqual(['sasl.mechanisms'])
  expect(() => checkSource(settings({ 'security.protocol': 'TLS' }))).toThrow('security.protocol must be one of')
})

test('references are checked by their form when they are stored, and are no secrets in clear', () => {
  const check = (key: string, value: string) => () => checkConfigs([[key, value]])
  expect(check('sasl.jaas.config', `a "\${directory:/run/secrets:password}"`)).not.toThrow()
  expect(check('ssl.key.password', `\${vault:a:b}`)).toThrow(
    `the value of ssl.key.password refers to \${vault:a:b}: there is no config provider vault`,
  )
  expect(check('ssl.key.password', `\${file:a:b}`)).toThrow('its path must be absolute')
  expect(check('mirror.topics.include', `\${env:TOPICS}`)).toThrow('only client properties of the source may')
  const configs = new Map([
    ['ssl.key.password', `\${env:A}`],
    ['sasl.jaas.config', `x password="\${env:A}"`],
  ])
  expect(settingWarnings(configs)).toEqual([])
  const jaas = (password: string) => new Map([['sasl.jaas.config', `x required username="\${env:U}" password="${password}";`]])
  expect(settingWarnings(jaas(`\${env:P}`))).toEqual([])
  expect(settingWarnings(jaas('clear'))).toEqual([expect.stringMatching(/^sasl.jaas.config is stored in clear/)])
  expect(withoutSecrets(configs)).toEqual({ 'ssl.key.password': `\${env:A}`, 'sasl.jaas.config': '[hidden]' })
})
