import { describe, expect, test } from 'vitest'
import { rewriteKipArguments } from '../../../src/cli/kip-arguments.js'
import { VERB_WORDS } from '../../../src/cli/verbs.js'

const words = (line: string) => line.split(' ').filter(Boolean)

const KIP_LINES: [typed: string, becomes: string][] = [
  [
    '--bootstrap-server :9094 --create --mirror my-mirror --mirror-config /tmp/mirror.properties',
    'create --bootstrap-server :9094 --mirror my-mirror --mirror-config /tmp/mirror.properties',
  ],
  [
    '--bootstrap-server :9094 --add --topic my-topic --mirror my-mirror --replication-factor 2 --remote-bootstrap-server :9092 --topic-id gWrR6uDrSNSSfu_ubGndCg',
    'add --bootstrap-server :9094 --topic my-topic --mirror my-mirror --replication-factor 2 --remote-bootstrap-server :9092 --topic-id gWrR6uDrSNSSfu_ubGndCg',
  ],
  ['--bootstrap-server :9094 --list', 'list --bootstrap-server :9094'],
  ['--bootstrap-server :9094 --describe', 'describe --bootstrap-server :9094'],
  [
    '--bootstrap-server :9094 --remove --topic my-topic --mirror my-mirror',
    'remove --bootstrap-server :9094 --topic my-topic --mirror my-mirror',
  ],
  ['--bootstrap-server :9094 --delete --mirror my-mirror', 'delete --bootstrap-server :9094 --mirror my-mirror'],
  ['--alter --mirror m --add-config a=1 --delete-config b', 'alter --mirror m --add-config a=1 --delete-config b'],
  [
    '--bootstrap-server :9094 --entity-type brokers --entity-name 4 --alter --add-config mirror.replication.throttled.rate=100000000',
    'throttle --bootstrap-server :9094 --entity-type brokers --entity-name 4 --alter --add-config mirror.replication.throttled.rate=100000000',
  ],
  [
    '--bootstrap-server :9094 --entity-type topics --entity-name my-topic --alter --add-config mirror.replication.throttled.replicas=[0:4]',
    'throttle --bootstrap-server :9094 --entity-type topics --entity-name my-topic --alter --add-config mirror.replication.throttled.replicas=[0:4]',
  ],
  [
    '--bootstrap-server :9091 --alter --add-config consumer_byte_rate=1024 --entity-type clients --entity-name broker-4-fetcher-0-mirror-my-mirror',
    'throttle --bootstrap-server :9091 --alter --add-config consumer_byte_rate=1024 --entity-type clients --entity-name broker-4-fetcher-0-mirror-my-mirror',
  ],
  ['--describe --entity-type=brokers', 'throttle --describe --entity-type=brokers'],
  ['--throttle --entity-type brokers --describe', 'throttle --entity-type brokers --describe'],
  ['--throttle --broker 4 --rate 100000000', 'throttle --broker 4 --rate 100000000'],
  ['--start --topic t --mirror m', 'add --topic t --mirror m'],
  ['--mirror m --topic t --stop', 'remove --mirror m --topic t'],
  ['--mirror m --pause --wait', 'pause --mirror m --wait'],
  ['--resume --topic t --mirror m', 'resume --topic t --mirror m'],
  ['--mirror m --remove --drain=5m', 'remove --mirror m --drain=5m'],
  ['--list --list', 'list'],
  ['--describe --help', 'describe --help'],
  ['--help', '--help'],
  ['--version', '--version'],
  ['--run --mirror m -- --list', 'run --mirror m -- --list'],
]

describe('the spelling of the KIP', () => {
  test.each(KIP_LINES)('%s', (typed, becomes) => expect(rewriteKipArguments(words(typed))).toEqual(words(becomes)))

  test('values are kept as they are, blanks and all', () => {
    expect(rewriteKipArguments(['--add', '--topic', 'a b', '-X', 'sasl.jaas.config=x y;'])).toEqual([
      'add',
      '--topic',
      'a b',
      '-X',
      'sasl.jaas.config=x y;',
    ])
  })

  test.each(['', '--bootstrap-server :9094', 'list', '--mirror m --topic t'])('no verb in "%s" names the verbs', (typed) => {
    for (const word of VERB_WORDS)
      expect(() => rewriteKipArguments(words(typed))).toThrow(
        expect.objectContaining({ kind: 'usage', advice: expect.stringContaining(`--${word}`) }),
      )
  })

  test.each(['--create --list', '--add --stop', '--alter --describe --mirror m'])('two verbs are refused: %s', (typed) => {
    const [first, second] = words(typed)
    expect(() => rewriteKipArguments(words(typed))).toThrow(`${first} and ${second} cannot be given together`)
  })
})
