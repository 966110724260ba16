import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { connectionProperties } from '../../../src/cli/connection.js'
import { readPropertyFile } from '../../../src/cli/property-file.js'

const folder = mkdtempSync(join(tmpdir(), 'kafka-mirrors-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const usage = (message: string) => expect.objectContaining({ kind: 'usage', message: expect.stringContaining(message) })

describe('connection properties', () => {
  const config = file('client.properties', 'bootstrap.servers=file:1\nclient.id=file\nsasl.mechanism=PLAIN\n')
  const everything = {
    flags: { 'bootstrap-server': 'flag:1', property: ['bootstrap.servers=x:1', 'client.id=x'], 'command-config': config },
    env: { KAFKA_MIRRORS_BOOTSTRAP_SERVER: 'env:1', KAFKA_MIRRORS_CLIENT_ID: 'env' },
  }

  test.each([
    ['flag over all', everything.flags, everything.env, 'flag:1', 'x'],
    ['-X over environment', { ...everything.flags, 'bootstrap-server': undefined }, everything.env, 'x:1', 'x'],
    ['environment over file', { 'command-config': config }, everything.env, 'env:1', 'env'],
    ['file when nothing else', { 'command-config': config }, {}, 'file:1', 'file'],
    ['the file named by the environment', {}, { KAFKA_MIRRORS_COMMAND_CONFIG: config }, 'file:1', 'file'],
    [
      'flag over the environment for the file',
      { 'command-config': config },
      { KAFKA_MIRRORS_COMMAND_CONFIG: '/nowhere' },
      'file:1',
      'file',
    ],
  ])('%s', async (_, flags, env, server, clientId) => {
    const properties = await connectionProperties(flags, env)
    expect(properties.get('bootstrap.servers')).toBe(server)
    expect(properties.get('client.id')).toBe(clientId)
  })

  test('sources are merged key by key', async () => {
    const properties = await connectionProperties(everything.flags, everything.env)
    expect(Object.fromEntries(properties)).toEqual({ 'bootstrap.servers': 'flag:1', 'client.id': 'x', 'sasl.mechanism': 'PLAIN' })
  })

  test('a variable is the key in capitals with underscores; our own and empty ones are no client keys', async () => {
    const env = {
      KAFKA_MIRRORS_BOOTSTRAP_SERVERS: 'a:1',
      KAFKA_MIRRORS_SASL_JAAS_CONFIG: 'x username="a=b";',
      KAFKA_MIRRORS_DEBUG: '1',
      KAFKA_MIRRORS_CLIENT_ID: '',
      HOME: '/root',
    }
    expect(Object.fromEntries(await connectionProperties({}, env))).toEqual({
      'bootstrap.servers': 'a:1',
      'sasl.jaas.config': 'x username="a=b";',
    })
  })

  test.each([
    ['no server at all', {}, {}, 'no Kafka cluster named'],
    ['-X without =', { property: ['client.id'] }, {}, "-X needs key=value, not 'client.id'"],
    ['-X without key', { property: ['=x'] }, {}, "-X needs key=value, not '=x'"],
    ['a setting of mirrors', { property: ['mirror.on.gap=fail'] }, {}, 'mirror.on.gap is a setting of a mirror'],
    ['a missing file', { 'command-config': join(folder, 'none') }, {}, `cannot read ${join(folder, 'none')}: there is no such file`],
  ])('wrong use: %s', async (_, flags, env, message) => {
    await expect(connectionProperties(flags, env)).rejects.toEqual(usage(message))
  })
})

describe('property files', () => {
  test('a bad line is named with its file and number', async () => {
    const path = file('bad.properties', '# fine\na=1\nnonsense\n')
    await expect(readPropertyFile(path, '--mirror-config')).rejects.toEqual(usage(`${path}, line 3: `))
  })

  test('a folder is no file', async () => {
    await expect(readPropertyFile(folder, '--mirror-config')).rejects.toEqual(usage(`cannot read ${folder}: it is a directory`))
  })
})
