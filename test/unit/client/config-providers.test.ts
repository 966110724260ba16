import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { isAllowed, parseAllowedConfig } from '../../../src/client/allowed-config.js'
import { resolveReferences } from '../../../src/client/config-providers.js'
import { faultOf, hasReference, referencesIn, replaceReferences, shownReference } from '../../../src/client/config-references.js'
import { readRegularFile } from '../../../src/client/regular-file.js'

const ref = (inside: string) => `\${${inside}}`

describe('references', () => {
  test.each([
    ['env:NAME', { provider: 'env', path: '', key: 'NAME' }],
    ['file:/a/b.properties:pass.word', { provider: 'file', path: '/a/b.properties', key: 'pass.word' }],
    ['file:/a:b:c', { provider: 'file', path: '/a', key: 'b:c' }],
    ['directory:/run/secrets:password', { provider: 'directory', path: '/run/secrets', key: 'password' }],
    ['vault:x:y', { provider: 'vault', path: 'x', key: 'y' }],
    ['env:', { provider: 'env', path: '', key: '' }],
  ])('are read as Kafka reads them: %s', (inside, parts) => {
    expect(referencesIn(ref(inside))).toEqual([{ text: ref(inside), ...parts }])
  })

  it('are found among other text, and what only looks like one is left as it is', () => {
    const value = `user="${ref('env:U')}" $x \${plain} ${ref(':k')} ${ref('a b:c')} password="${ref('file:/p:k')}" \${open`
    expect(referencesIn(value).map(({ text }) => text)).toEqual([ref('env:U'), ref('file:/p:k')])
    expect(replaceReferences(value, ({ key }) => `<${key}>`)).toBe(
      `user="<U>" $x \${plain} ${ref(':k')} ${ref('a b:c')} password="<k>" \${open`,
    )
  })

  it('are filled in once, whatever comes out', () => {
    expect(replaceReferences(`${ref('env:A')}$&`, () => ref('env:B'))).toBe(`${ref('env:B')}$&`)
  })

  it('take no time to find in a long value made for it', () => {
    const value = `${'${a:'.repeat(100_000)}${':'.repeat(100_000)}`
    const start = performance.now()
    expect(hasReference(value)).toBe(false)
    expect(hasReference(`${value}}`)).toBe(true)
    expect(hasReference(`${'${'.repeat(200_000)}}`)).toBe(false)
    expect(performance.now() - start).toBeLessThan(2_000)
  })

  test.each([
    ['vault:x:y', /no config provider vault, only env, file, directory/],
    ['ENV:X', /no config provider ENV/],
    ['env:', /names no key/],
    ['env:a:b', /must read/],
    ['file:x', /must read \$\{file:path:key\}/],
    ['file:a/b:k', /must be absolute/],
    ['file:../b:k', /must be absolute/],
    ['directory:/a:b/c', /name of a file/],
    ['directory:/a:..', /name of a file/],
  ])('of the wrong form are told: %s', (inside, fault) => {
    expect(faultOf(referencesIn(ref(inside))[0]!)).toMatch(fault)
  })

  it('are shown without what drives a terminal, and not at any length', () => {
    expect(shownReference(referencesIn(ref('env:\x1b[2J\nX'))[0]!)).toBe(ref('env:?[2J?X'))
    expect(shownReference(referencesIn(ref(`env:${'x'.repeat(999)}`))[0]!)).toHaveLength(121)
  })
})

describe('what is allowed', () => {
  const allowed = parseAllowedConfig([
    'env:SOURCE_*',
    'env:EXACT',
    'file:/etc/mirrors/',
    'file:/opt/one.properties',
    'directory:/run/secrets',
  ])
  const isFine = (inside: string) => isAllowed(allowed, referencesIn(ref(inside))[0]!)

  test.each([
    'env:SOURCE_PASSWORD',
    'env:SOURCE_',
    'env:EXACT',
    'file:/etc/mirrors/a:k',
    'file:/etc/mirrors/a/../b:k',
    'file:/opt/one.properties:k',
    'directory:/run/secrets:k',
    'directory:/run/secrets/:k',
    'directory:/run/secrets/deep:k',
  ])('%s is', (inside) => expect(isFine(inside)).toBe(true))

  test.each([
    'env:SOURCE',
    'env:XSOURCE_PASSWORD',
    'env:EXACTLY',
    'env:source_password',
    'file:/etc/mirrors-too/a:k',
    'file:/etc/mirrors/../shadow:k',
    'file:/etc/mirrors/a/../../shadow:k',
    'file:/etc:k',
    'file:/opt/one.properties.bak:k',
    'file:/run/secrets/password:k',
    'directory:/etc/mirrors:k',
    'directory:/run:secrets',
    'directory:/run/secrets/..:k',
    'vault:SOURCE_PASSWORD',
  ])('%s is not', (inside) => expect(isFine(inside)).toBe(false))

  it('is nothing when nothing is said', () => {
    const nothing = parseAllowedConfig([])
    for (const inside of ['env:PATH', 'file:/etc/hostname:k', 'directory:/:k'])
      expect(isAllowed(nothing, referencesIn(ref(inside))[0]!)).toBe(false)
    expect(isAllowed(parseAllowedConfig(['file:/']), referencesIn(ref('file:/etc/hostname:k'))[0]!)).toBe(true)
  })

  test.each(['vault:x', 'env', 'env:', 'env:A=*', 'env:*_X', 'file:relative', 'directory:.'])('%s cannot be read', (entry) => {
    expect(() => parseAllowedConfig([entry])).toThrow(
      expect.objectContaining({ kind: 'usage', advice: expect.stringContaining('env:PREFIX*') }),
    )
  })
})

describe('resolving', () => {
  let root: string
  let folder: string
  beforeAll(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'config-providers-')))
    folder = join(root, 'allowed')
    mkdirSync(folder)
    mkdirSync(join(root, 'outside'))
    writeFileSync(join(root, 'outside', 'secret.properties'), 'password=outside')
    writeFileSync(join(folder, 'a.properties'), '# of the source\npassword = p\\u00e4ss=word\nempty=\n')
    writeFileSync(join(folder, 'key.pem'), 'c2VjcmV0IGtleSBtYXRlcmlhbA')
    writeFileSync(join(folder, 'password'), 'by itself\n')
    writeFileSync(join(folder, 'huge'), Buffer.alloc((1 << 20) + 1, 'x'))
    symlinkSync(join(root, 'outside', 'secret.properties'), join(folder, 'link.properties'))
    symlinkSync(join(root, 'outside'), join(folder, 'way-out'))
    // As the kubelet mounts secrets.
    mkdirSync(join(folder, '..2026'))
    writeFileSync(join(folder, '..2026', 'token'), 'mounted')
    symlinkSync('..2026', join(folder, '..data'))
    symlinkSync(join('..data', 'token'), join(folder, 'token'))
    symlinkSync(folder, join(root, 'by-another-name'))
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  const env = { SOURCE_PASSWORD: 'from env', OTHER: 'not yours', EMPTY: '' }
  const allow = (...entries: string[]) => ({ env, allowed: parseAllowedConfig(entries) })
  const inFolder = () => allow('env:SOURCE_*', `file:${folder}`, `directory:${folder}`)
  const resolve = (inside: string, options: Parameters<typeof resolveReferences>[1]) =>
    resolveReferences(new Map([['ssl.key.password', ref(inside)]]), options).get('ssl.key.password')
  const refusal = (inside: string, options: Parameters<typeof resolveReferences>[1]) => {
    try {
      return `resolved to ${resolve(inside, options)}`
    } catch (error) {
      expect(error).toMatchObject({ name: 'ConfigError', key: 'ssl.key.password' })
      return (error as Error).message
    }
  }

  it('fills in variables, keys of files and files of folders', () => {
    expect(resolve('env:SOURCE_PASSWORD', inFolder())).toBe('from env')
    expect(resolve('env:EMPTY', { env })).toBe('')
    expect(resolve(`file:${folder}/a.properties:password`, inFolder())).toBe('päss=word')
    expect(resolve(`file:${folder}/a.properties:empty`, inFolder())).toBe('')
    expect(resolve(`directory:${folder}:password`, inFolder())).toBe('by itself\n')
  })

  it('leaves values without references, and other keys, alone', () => {
    const properties = new Map([
      ['bootstrap.servers', 'a:1'],
      ['sasl.jaas.config', `x required password="${ref('env:SOURCE_PASSWORD')}";`],
    ])
    expect([...resolveReferences(properties, inFolder())]).toEqual([
      ['bootstrap.servers', 'a:1'],
      ['sasl.jaas.config', 'x required password="from env";'],
    ])
    expect(properties.get('sasl.jaas.config')).toContain(ref('env:SOURCE_PASSWORD'))
  })

  it('follows links within what is allowed, and a folder that is one itself', () => {
    expect(resolve(`directory:${folder}:token`, inFolder())).toBe('mounted')
    const renamed = join(root, 'by-another-name')
    expect(resolve(`directory:${renamed}:password`, allow(`directory:${renamed}`))).toBe('by itself\n')
  })

  it('refuses links that lead out, by a file or a folder, and names the reference', () => {
    for (const inside of [`file:${folder}/link.properties:password`, `file:${folder}/way-out/secret.properties:password`]) {
      expect(refusal(inside, inFolder())).toBe(
        `ssl.key.password refers to ${shown(inside)}, which leads out of what run --allow-config allows`,
      )
      // A command has its operator's rights.
      expect(resolve(inside, { env })).toBe('outside')
    }
    expect(refusal(`directory:${folder}/way-out:secret.properties`, inFolder())).toMatch(/leads out/)
  })
  const shown = (inside: string) => shownReference(referencesIn(ref(inside))[0]!)

  it('refuses what is not allowed in the same words, whether it is there or not', () => {
    for (const inside of [
      'env:OTHER',
      'env:NOT_THERE',
      `file:${root}/outside/secret.properties:password`,
      `file:${root}/no-such-file:k`,
      `file:${folder}/../outside/secret.properties:password`,
    ]) {
      expect(refusal(inside, inFolder())).toBe(
        `ssl.key.password refers to ${shown(inside)}, which this runner may not resolve: run --allow-config says what it may`,
      )
    }
  })

  test.each([
    ['env:SOURCE_NOTHING', 'there is no such environment variable'],
    ['env:constructor', 'there is no such environment variable'],
    ['file:@/a.properties:nothing', 'the file has no such key'],
    ['file:@/nothing:k', 'the file does not exist'],
    ['file:@/a.properties/x:k', 'the file does not exist'],
    ['file:@:k', 'the file is not a regular file'],
    ['directory:@:..2026', 'the file is not a regular file'],
    ['directory:@:huge', 'the file is too large'],
    ['file:/dev/zero:k', 'the file is not a regular file'],
    ['file:@/a\0b:k', 'the file cannot be read'],
  ])('says what is missing: %s', (inside, why) => {
    const options = { env, allowed: parseAllowedConfig(['env:*', 'file:/', 'directory:/']) }
    expect(refusal(inside.replace('@', folder), options)).toContain(`, but ${why}`)
  })

  it('never repeats what is in a file', () => {
    expect(refusal(`file:${folder}/key.pem:k`, inFolder())).toMatch(/, but the file is not one of Java properties \(line 1\)$/)
  })

  it('reads stores of keys from regular files only, by links too', () => {
    expect(readRegularFile(join(folder, 'link.properties')).toString()).toBe('password=outside')
    expect(() => readRegularFile('/dev/zero')).toThrow('not a regular file')
    expect(() => readRegularFile(join(folder, 'none'))).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  })
})
