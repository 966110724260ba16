import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import Add from '../../../commands/add.js'
import Alter from '../../../commands/alter.js'
import Create from '../../../commands/create.js'
import Delete from '../../../commands/delete.js'
import Describe from '../../../commands/describe.js'
import List from '../../../commands/list.js'
import Pause from '../../../commands/pause.js'
import Recover from '../../../commands/recover.js'
import Remove from '../../../commands/remove.js'
import Resume from '../../../commands/resume.js'
import Reverse from '../../../commands/reverse.js'
import Throttle from '../../../commands/throttle.js'
import Verify from '../../../commands/verify.js'
import type { Admin, CommandClass } from '../../../src/cli/base-command.js'
import { failure } from '../../../src/mirror/errors.js'
import { root, runVerb } from '../../support/cli.js'
import { schemaErrors } from '../../support/json-schema.js'

const schema = (name: string) => JSON.parse(readFileSync(`${root}/docs/schemas/${name}.json`, 'utf8'))
const beyond = 9_223_372_036_854_775_807n

const bad = { topic: 'b', mirror: 'm', ok: false, error: failure('UNKNOWN_TOPIC', 'no') } as const
const partitions = [
  { partition: 0, destinationOffset: beyond, sourceOffset: beyond, lost: 0n, sourceSeenAt: 5 },
  { partition: 1, destinationOffset: undefined, sourceOffset: undefined, lost: undefined, sourceSeenAt: undefined },
]
const gone = { topic: 'a', mirror: 'm', ok: true, how: 'fenced', partitions } as const
const recovered = [
  {
    mirror: 'm',
    topic: 'a',
    partition: 0,
    state: 'FAILED',
    error: 'e',
    problem: 'gap',
    wanted: 1n,
    available: beyond,
    sourceOffset: beyond,
    lost: { from: 1n, to: beyond },
    differsFrom: 1n,
    divergedOffsets: 2n,
    divergedRecords: 2,
    divergedRecordsComplete: false,
    action: 'none',
    needs: 'on-gap',
    explanation: 'x',
  },
  {
    mirror: 'm',
    topic: 'a',
    partition: 1,
    state: 'LOG_ALIGNMENT',
    error: undefined,
    problem: 'unknown',
    wanted: undefined,
    available: undefined,
    sourceOffset: undefined,
    lost: undefined,
    differsFrom: undefined,
    divergedOffsets: undefined,
    divergedRecords: undefined,
    divergedRecordsComplete: true,
    action: 'retry',
    needs: undefined,
    explanation: 'x',
  },
] as const
const reversed = [
  {
    partition: 0,
    lastMirrored: 1n,
    destinationOffset: beyond,
    sourceOffset: 5n,
    lost: { from: beyond, to: beyond },
    differsFrom: 1n,
    divergedOffsets: 2n,
    divergedRecords: 2,
    divergedRecordsComplete: false,
  },
  {
    partition: 1,
    lastMirrored: undefined,
    destinationOffset: undefined,
    sourceOffset: undefined,
    lost: undefined,
    differsFrom: undefined,
    divergedOffsets: undefined,
    divergedRecords: undefined,
    divergedRecordsComplete: true,
  },
] as const
const paused = { topic: 'a', mirror: 'm', ok: true, partitions: 2, how: 'changed' } as const
const listing = { mirror: 'm', topics: 1, sourceBootstrap: ':9092', sourceClusterId: undefined }

const compared = {
  topic: 'a',
  partition: 0,
  result: 'different',
  from: 1n,
  to: beyond,
  offsets: beyond,
  records: 5n,
  bytes: beyond,
  sourceStart: 1n,
  destinationStart: 1n,
  sourceEnd: beyond,
  destinationEnd: beyond,
  lag: 0n,
  superseded: 1n,
  lost: [{ from: 0n, to: 1n }],
  differenceCount: 7n,
  differences: [
    { topic: 'a', partition: 0, offset: beyond, kind: 'record', fields: ['timestamp', 'value'], message: 'differs' },
    { topic: 'a', partition: 0, offset: 3n, kind: 'missing', fields: [], message: 'missing' },
  ],
  error: undefined,
}
const unknown = {
  from: undefined,
  to: undefined,
  sourceStart: undefined,
  destinationStart: undefined,
  sourceEnd: undefined,
  lag: undefined,
}
const failed = {
  ...compared,
  ...unknown,
  partition: 1,
  result: 'failed',
  destinationEnd: undefined,
  lost: [],
  differences: [],
  error: bad.error,
}
const verified = { mirror: 'm', equal: false, seed: undefined, partitions: [compared, failed], warnings: ['on stderr, not in the JSON'] }

const admin = {
  createMirror: async () => ({ mirror: 'm', sourceClusterId: undefined, warnings: [] }),
  addTopicsToMirror: async () => ({
    topics: [
      {
        topic: 'a',
        mirror: 'm',
        ok: true,
        partitions: 1,
        sourceTopicId: 'x',
        destinationTopicId: undefined,
        how: 'created',
        fastForward: undefined,
      },
      {
        topic: 'c',
        mirror: 'm',
        ok: true,
        partitions: 1,
        sourceTopicId: 'x',
        destinationTopicId: 'y',
        how: 'continued',
        fastForward: { offsets: beyond, seconds: 0.5, bytes: 1n },
      },
      bad,
    ],
    warnings: [],
  }),
  removeTopicsFromMirror: async () => ({ topics: [gone, bad], warnings: [] }),
  deleteMirror: async () => ({ mirror: 'm', deleted: false, topics: [gone, bad], warnings: [] }),
  pauseMirror: async () => ({ mirror: 'm', topics: [paused, { ...paused, topic: 'c', how: 'unchanged' }, bad], warnings: [] }),
  resumeMirror: async () => ({ mirror: 'm', topics: [paused, bad], warnings: [] }),
  alterMirror: async () => ({ mirror: 'm', changed: ['a'], warnings: [] }),
  listMirrors: async () => ({ mirrors: [listing], warnings: [] }),
  describeMirrors: async () => ({
    mirrors: [
      {
        ...listing,
        configs: { 'bootstrap.servers': ':9092' },
        syncs: [
          {
            loop: 'configs',
            ok: false,
            at: 1,
            lastSuccess: undefined,
            error: 'e',
            changes: 2,
            problems: [{ item: 'a', message: 'no' }],
            moreProblems: 1,
            notes: ['n'],
            owner: 'o',
          },
          {
            loop: 'acls',
            ok: true,
            at: 1,
            lastSuccess: 1,
            error: undefined,
            changes: 0,
            problems: [],
            moreProblems: 0,
            notes: [],
            owner: 'o',
          },
        ],
        readOnly: { guarded: ['a'], watched: ['b'] },
        withheldRights: ['ALLOW WRITE on topic a for User:x'],
      },
    ],
    partitions: [
      {
        mirror: 'm',
        topic: 'a',
        partition: 0,
        sourceOffset: beyond,
        destinationOffset: 1n,
        lag: 2n,
        state: 'MIRRORING',
        since: 1,
        lastStableOffset: 3n,
        owner: 'o',
        error: 'e',
        retries: 1,
        errorSince: 2,
        fillMode: 'markers',
        held: { k: 'v', n: null },
        lostRanges: [{ from: 1n, to: beyond }],
        lostOffsets: beyond,
        openTransaction: { producerId: beyond, firstOffset: 3n, lastWriteAt: 5 },
      },
      {
        mirror: 'm',
        topic: 'a',
        partition: 1,
        sourceOffset: undefined,
        destinationOffset: undefined,
        lag: undefined,
        state: 'FAILED',
        since: undefined,
        lastStableOffset: undefined,
        owner: undefined,
        error: undefined,
        retries: 0,
        errorSince: undefined,
        fillMode: undefined,
        held: {},
        lostRanges: [],
        lostOffsets: 0n,
        openTransaction: undefined,
      },
    ],
    warnings: ['on stderr, not in the JSON'],
  }),
  recoverMirror: async () => ({
    topics: [{ topic: 'a', mirror: 'm', ok: true, partitions: recovered, kept: { topic: 'a.diverged', records: 3 } }, bad],
    warnings: [],
  }),
  reverseMirror: async () => ({
    mirror: 'm',
    sourceClusterId: 'c',
    created: true,
    topics: [
      { topic: 'a', mirror: 'm', ok: true, how: 'none', needs: 'on-divergence', partitions: reversed, kept: undefined },
      { topic: 'c', mirror: 'm', ok: true, how: 'reseeded', needs: undefined, partitions: [], kept: { topic: 'c.diverged', records: 3 } },
      bad,
    ],
    warnings: [],
  }),
  verifyMirror: async () => verified,
  setThrottle: async () => {},
  describeThrottles: async () => ({
    throttles: [
      { target: { kind: 'broker', broker: 4 }, rate: 1, replicas: undefined },
      { target: { kind: 'topic', topic: 't' }, rate: undefined, replicas: [{ partition: 0, broker: 4 }] },
      { target: { kind: 'source', mirror: 'm', client: 'c' }, rate: 1, replicas: '*' },
    ],
    warnings: [],
  }),
} as unknown as Admin

const file = `${root}/test/unit/cli/mirror.properties`
const CASES: [name: string, verb: CommandClass, words: string[]][] = [
  ['create', Create, ['--mirror', 'm', '--mirror-config', file]],
  ['add', Add, ['--mirror', 'm', '--topic', 'a']],
  ['add', Add, ['--mirror', 'm', '--topic', 'a', '--dry-run']],
  ['list', List, []],
  ['describe', Describe, []],
  ['describe', Describe, ['--failed']],
  ['remove', Remove, ['--mirror', 'm', '--topic', 'a']],
  ['remove', Remove, ['--mirror', 'm', '--topic', 'a', '--dry-run']],
  ['recover', Recover, ['--mirror', 'm']],
  ['recover', Recover, ['--mirror', 'm', '--dry-run']],
  ['reverse', Reverse, ['--mirror', 'm', '--remote-bootstrap-server', ':9094']],
  ['delete', Delete, ['--mirror', 'm']],
  ['pause', Pause, ['--mirror', 'm']],
  ['pause', Pause, ['--mirror', 'm', '--dry-run']],
  ['resume', Resume, ['--mirror', 'm', '--topic', 'a']],
  ['alter', Alter, ['--mirror', 'm', '--delete-config', 'a']],
  ['throttle', Throttle, ['--broker', '4', '--rate', '1']],
  ['throttle', Throttle, ['--topic', 't', '--replicas', '*']],
  ['throttle', Throttle, ['--broker', '4', '--clear']],
  ['throttle-describe', Throttle, []],
  ['verify', Verify, ['--mirror', 'm']],
]

test.each(CASES)('the JSON of %s %#', async (name, Verb, words) => {
  const { stdout } = await runVerb(Verb, [...words, '--json'], { admin })
  expect(schemaErrors(schema(name), JSON.parse(stdout))).toEqual([])
  expect((await runVerb(Verb, [...words, '-o', 'json'], { admin })).stdout).toBe(stdout)
})

test('no schema is left over', () => {
  const files = readdirSync(`${root}/docs/schemas`).map((name) => name.replace('.json', ''))
  expect(files.sort()).toEqual([...new Set(CASES.map(([name]) => name))].sort())
})

test('int64 stays exact', async () => {
  expect(JSON.parse((await runVerb(Describe, ['--json'], { admin })).stdout).partitions[0].sourceOffset).toBe('9223372036854775807')
})

test('the schemas refuse what they should', () => {
  const [mirror] = [{ ...listing, sourceClusterId: null }]
  expect(schemaErrors(schema('list'), { mirrors: [mirror] })).toEqual([])
  expect(schemaErrors(schema('list'), { mirrors: [{ ...mirror, topics: '1' }] })).toEqual(['$.mirrors[0].topics: is no integer'])
  expect(schemaErrors(schema('list'), { mirrors: [], more: 1 })).toEqual(['$: more is unknown'])
  expect(schemaErrors(schema('list'), {})).toEqual(['$: mirrors is missing'])
})
