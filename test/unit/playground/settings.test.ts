import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readAnswer } from '../../../src/playground/broker-probe.js'
import { brokerProperties, propertiesText } from '../../../src/playground/broker-settings.js'
import { javaNeededBy, javaRelease } from '../../../src/playground/java.js'
import { kafkaJars, pomFor, versionOfJars } from '../../../src/playground/kafka-jars.js'
import { LogTail } from '../../../src/playground/log-tail.js'

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['java version "1.8.0_392"', 8],
  ['openjdk version "21" 2023-09-19', 21],
  ['command not found', undefined],
])('the release in %s is %s', (text, release) => {
  expect(javaRelease(text)).toBe(release)
})

test('Kafka 4 needs Java 17', () => {
  expect(['2.8.2', '3.9.1', '4.0.0', '10.1.0'].map(javaNeededBy)).toEqual([11, 11, 17, 17])
})

describe('broker settings', () => {
  const node = { nodeId: 2, dataDir: '/data', listeners: [{ name: 'INNER', protocol: 'PLAINTEXT' as const, host: '127.0.0.1', port: 10 }] }

  test('a single node is its own controller and keeps one replica of internal topics', () => {
    const properties = brokerProperties({ ...node, controllers: new Map([[2, 20]]) })
    expect(properties.get('controller.quorum.voters')).toBe('2@127.0.0.1:20')
    expect(properties.get('listeners')).toBe('INNER://127.0.0.1:10,CONTROLLER://127.0.0.1:20')
    expect(properties.get('inter.broker.listener.name')).toBe('INNER')
    expect(properties.get('offsets.topic.replication.factor')).toBe('1')
  })

  test('three nodes know each other and keep three replicas', () => {
    const controllers = new Map([
      [1, 20],
      [2, 21],
      [3, 22],
    ])
    const properties = brokerProperties({ ...node, controllers })
    expect(properties.get('controller.quorum.voters')).toBe('1@127.0.0.1:20,2@127.0.0.1:21,3@127.0.0.1:22')
    expect(properties.get('listeners')).toContain('CONTROLLER://127.0.0.1:21')
    expect(properties.get('offsets.topic.replication.factor')).toBe('3')
  })

  test("an advertised address is the proxy's, and given properties win", () => {
    const listeners = [
      ...node.listeners,
      { name: 'OUTER', protocol: 'SASL_SSL' as const, host: '127.0.0.1', port: 11, advertised: 'localhost:99' },
    ]
    const properties = brokerProperties({ ...node, listeners, controllers: new Map([[2, 20]]), properties: { 'num.io.threads': '9' } })
    expect(properties.get('advertised.listeners')).toBe('INNER://127.0.0.1:10,OUTER://localhost:99')
    expect(properties.get('listener.security.protocol.map')).toBe('CONTROLLER:PLAINTEXT,INNER:PLAINTEXT,OUTER:SASL_SSL')
    expect(properties.get('num.io.threads')).toBe('9')
  })

  test('backslashes and line ends survive a properties file', () => {
    expect(propertiesText(new Map([['a', 'x\\y\nz']]))).toBe('a=x\\\\y\\nz\n')
  })
})

describe('jars', () => {
  test('the pom names every artifact in the wanted version', () => {
    const pom = pomFor('3.9.1', ['connect-mirror'])
    for (const artifact of ['kafka_2.13', 'kafka-tools', 'connect-mirror']) {
      expect(pom).toContain(`<artifactId>${artifact}</artifactId><version>3.9.1</version>`)
    }
  })

  test('the version of a folder is that of its clients', () => {
    expect(versionOfJars(['a.jar', 'kafka-clients-4.4.0.jar'])).toBe('4.4.0')
    expect(versionOfJars(['kafka-raft-4.4.0.jar'])).toBeUndefined()
  })

  test('what is not a version never reaches Maven', async () => {
    await expect(kafkaJars({ version: '../x', env: {} })).rejects.toThrow('"../x" is not a Kafka version.')
  })

  test('a KAFKA_HOME without Kafka is named', async () => {
    await expect(kafkaJars({ version: '4.4.0', env: { KAFKA_HOME: '/nonexistent' } })).rejects.toThrow('KAFKA_HOME is /nonexistent')
  })

  test('a missing Maven is said, with what to do', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kafka-mirrors-cache-'))
    const env = { XDG_CACHE_HOME: folder, PATH: '/nonexistent' }
    await expect(kafkaJars({ version: '9.9.9', env })).rejects.toMatchObject({
      message: expect.stringContaining('Maven (mvn) was not found'),
      advice: 'Install Maven, or set KAFKA_HOME to an unpacked Kafka.',
    })
    // Nothing that could be taken for jars stays in the cache.
    expect(await readdir(join(folder, 'kafka-mirrors', 'jars'))).toEqual([])
    await rm(folder, { recursive: true })
  })
})

test('a log tail keeps the last lines and the unfinished one', () => {
  const tail = new LogTail(2)
  tail.add('a\nb\nc')
  tail.add('d\ne')
  expect(tail.text()).toBe('b\ncd\ne')
})

describe('the probe', () => {
  const string = (text: string | null) => {
    const length = Buffer.alloc(2)
    length.writeInt16BE(text === null ? -1 : Buffer.byteLength(text))
    return Buffer.concat([length, Buffer.from(text ?? '')])
  }
  const answer = (brokers: number, clusterId: string | null) => {
    const broker = Buffer.concat([Buffer.alloc(4), string('localhost'), Buffer.alloc(4), string(null)])
    const count = Buffer.alloc(4)
    count.writeInt32BE(brokers)
    const rest = Buffer.alloc(8)
    return Buffer.concat([Buffer.alloc(12), count, ...Array.from({ length: brokers }, () => broker), string(clusterId), rest])
  }

  test("tells a cluster from somebody else's on the same port", () => {
    expect(readAnswer(answer(2, 'abc'))).toEqual({ brokers: 2, clusterId: 'abc' })
    expect(readAnswer(answer(0, null))).toEqual({ brokers: 0, clusterId: undefined })
  })

  test('takes no answer of another protocol for one', () => {
    expect(readAnswer(Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'))).toBeUndefined()
  })
})
