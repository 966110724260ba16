import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { KafkaGroups } from '../support/kafka-groups.js'
import {
  beginTransaction,
  compactedDifferences,
  endTransaction,
  readLog,
  writeLog,
  writeRecords,
  writeSteadily,
  writeTransactions,
} from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, Mirroring } from '../support/mirroring.js'
import { startProgram } from '../support/program.js'
import { foreign } from '../support/recovering.js'
import { PROGRAM } from '../support/runner-process.js'
import { eventually } from '../support/wait.js'

const PROPERTIES = { ...DESTINATION_PROPERTIES, 'log.cleaner.backoff.ms': '100' }
/** A is the first source, B the first destination; both have runners of their own. */
const brokers = useBrokers({ source: { properties: PROPERTIES }, destination: { properties: PROPERTIES } })
const M = 'm'
const there = new Mirroring(brokers)
const back = new Mirroring({
  get source() {
    return brokers.destination
  },
  get destination() {
    return brokers.source
  },
  get worker() {
    return brokers.worker
  },
})
const dir = mkdtempSync(join(tmpdir(), 'kafka-mirrors-reverse-'))
afterAll(async () => {
  await Promise.all([there.close(), back.close()])
  rmSync(dir, { recursive: true })
})

beforeAll(async () => {
  await there.create()
  await Promise.all([there.startRunner(), back.startRunner()])
})

type Side = 'A' | 'B'
const clusterOf = (side: Side) => (side === 'A' ? brokers.source : brokers.destination)

/** The program on one of the clusters. */
const start = (side: Side, ...words: string[]) =>
  startProgram('verbs', [words[0]!, '--bootstrap-server', clusterOf(side).bootstrap, '--mirror', M, ...words.slice(1)], {
    program: PROGRAM,
  })

const run = (side: Side, ...words: string[]) => start(side, ...words).ended

/** Copies back to this side from the other one. */
const reverse = (side: Side, topic: string, ...words: string[]) =>
  run(side, 'reverse', '--remote-bootstrap-server', clusterOf(side === 'A' ? 'B' : 'A').bootstrap, '--topic', topic, ...words)

const ends = async (side: Side, topic: string) => (await clusterOf(side).admin.offsets(topic)).map(({ endOffset }) => endOffset)

/** Committed and aborted transactions, and plain records. */
async function writeMixed(side: Side, topic: string): Promise<void> {
  const { worker } = brokers
  const cluster = clusterOf(side)
  await writeTransactions(worker, cluster, {
    topic,
    partitions: 2,
    transactionalId: `${topic}-${side}`,
    transactions: 6,
    records: 5,
    abortEvery: 3,
  })
  await writeLog(worker, cluster, { topic, partitions: 2, records: 10 })
}

/** A topic of A with transactions in it, mirrored to B and caught up. */
async function mirrored(topic: string, configs: Record<string, string> = {}): Promise<void> {
  await brokers.source.admin.createTopic(topic, { partitions: 2, configs: { 'retention.ms': '86400000', ...configs } })
  await writeMixed('A', topic)
  await there.add(topic)
  await there.caughtUp(topic)
}

const content = async (side: Side, topic: string) => {
  const logs = await readLog(brokers.worker, clusterOf(side), { topic, isolation: 'read_committed', content: 'hash' })
  // The times of a LogAppendTime topic are the same on its copy, which calls them CreateTime.
  return logs.map(({ endOffset, records }) => ({ endOffset, records: records.map((record) => ({ ...record, timestampType: 'any' })) }))
}

/** `verify` on the cluster that is copied to. */
async function expectVerified(side: Side, ...topics: string[]): Promise<void> {
  const verified = await run(side, 'verify', ...topics.flatMap((topic) => ['--topic', topic]))
  expect(verified, verified.stdout + verified.stderr).toMatchObject({ exitCode: 0 })
}

/** Both sides as consumers see them. */
async function expectSame(topic: string): Promise<void> {
  expect(await content('A', topic)).toEqual(await content('B', topic))
}

test('the circle A→B→A→B: producers and consumers move, nothing acknowledged is lost, positions are exact', {}, async () => {
  const topic = 'circle'
  const { worker } = brokers
  await mirrored(topic)
  const acknowledged: string[] = []
  const consumed: string[] = []
  /** A member of the group reads until it has seen `enough`, and leaves. */
  const consume = async (side: Side, enough: (read: readonly string[]) => boolean) => {
    const groups = new KafkaGroups(worker, { bootstrap: clusterOf(side).bootstrap, properties: { 'isolation.level': 'read_committed' } })
    const member = await groups.join('movers', topic, { max: 20 })
    const read = () => member.records().map(({ partition, offset }) => `${partition.slice(topic.length + 1)}/${offset}`)
    await eventually(() => enough(read()))
    await member.leave()
    consumed.push(...read())
  }
  let live: Side = 'A'
  for (const next of ['B', 'A', 'B'] as const) {
    const cluster = clusterOf(live)
    const writer = await writeSteadily(worker, cluster, { topic, partitions: 2, recordsPerSecond: 200, events: true })
    await writeMixed(live, topic)
    await consume(live, (read) => read.length >= 40 && writer.acknowledged.length > 50)
    await writer.stop()
    for (const { partition, offset } of writer.acknowledged) acknowledged.push(`${partition}/${offset}`)
    // A transaction that is open when the move begins: it is waited for.
    await beginTransaction(worker, cluster, `open-${live}`)
    await writeLog(worker, cluster, { topic, partitions: 2, records: 4, transactionalId: `open-${live}` })
    const moving = run(next, 'remove', '--topic', topic, '--drain=60s')
    await endTransaction(worker, `open-${live}`, 'commit')
    const moved = await moving
    expect(moved, moved.stderr).toMatchObject({ exitCode: 0, stderr: '' })
    expect(await clusterOf(next).admin.committed('movers')).toEqual(await cluster.admin.committed('movers'))
    await expectSame(topic)
    expect(await ends(next, topic)).toEqual(await ends(live, topic))
    expect((await clusterOf(next).admin.topicConfigs(topic))['retention.ms']).toBe('86400000')
    // The other way, while clients are at work on the new side.
    await writeMixed(next, topic)
    const reversed = await reverse(live, topic, '--wait')
    expect(reversed, reversed.stderr).toMatchObject({
      exitCode: 0,
      stdout: `Reversed mirror ${M} for 1 topic(s): [${topic}]\n`,
      stderr: '',
    })
    await (next === 'B' ? back : there).caughtUp(topic)
    await expectSame(topic)
    // Only the difference was copied: the old records are where and what they were, in their own transactions.
    await expectVerified(live, topic)
    live = next
  }
  const visible = (await content(live, topic)).flatMap(({ records }, partition) => records.map(({ offset }) => `${partition}/${offset}`))
  expect(acknowledged.filter((one) => !visible.includes(one))).toEqual([])
  expect(acknowledged.length).toBeGreaterThan(150)
  await consume(live, (read) => consumed.length + read.length >= visible.length)
  // One group on two clusters in turn has read every record once.
  expect([...consumed].sort()).toEqual([...visible].sort())
})

test('what was not removed there, or stands open here, is refused and told what to do', async () => {
  const topic = 'refused'
  const { worker, source } = brokers
  await mirrored(topic)
  const early = await reverse('A', topic)
  expect(early).toMatchObject({ exitCode: 1, stdout: '' })
  expect(early.stderr).toMatch(
    /topic refused is still in mirror m on [0-9.:]+ — run there first: kafka-mirrors remove --bootstrap-server [0-9.:]+ --mirror m --topic refused/,
  )
  await beginTransaction(worker, source, 'hanging')
  await writeLog(worker, source, { topic, records: 3, transactionalId: 'hanging' })
  expect((await run('B', 'remove', '--topic', topic)).exitCode).toBe(0)
  const open = await reverse('A', topic)
  expect(open).toMatchObject({ exitCode: 1, stdout: '' })
  expect(open.stderr).toMatch(
    /transactions are open in it on this cluster: one of producer id \d+ \(epoch \d+\) since offset \d+ of partition 0 — let their producers end them, or end them with kafka-transactions.sh abort --topic refused --partition 0 --start-offset \d+/,
  )
  await endTransaction(worker, 'hanging', 'abort')
  // Nobody sees what was aborted, but it takes offsets that are other records' on the other cluster, and no log can be cut off.
  const aborted = await reverse('A', topic)
  expect(aborted).toMatchObject({ exitCode: 1, stdout: '' })
  expect(aborted.stderr).toMatch(/: 4 offset\(s\), \d+ to \d+, of partition 0 with 0 visible record\(s\) — see all of it with --dry-run/)
  // Nor is it replaced while something copies it the other way.
  await there.admin.createMirror('again', { 'bootstrap.servers': brokers.source.bootstrap })
  expect((await there.admin.addTopicsToMirror({ [topic]: 'again' })).topics).toMatchObject([{ ok: true }])
  const circle = await reverse('A', topic, '--on-divergence', 'reseed', '--yes')
  expect(circle).toMatchObject({ exitCode: 1, stdout: '' })
  expect(circle.stderr).toMatch(/topic refused would be mirrored in a circle: mirror again on the source copies it from this cluster/)
  const unknown = await reverse('A', 'nowhere')
  expect(unknown.stderr).toMatch(/mirror m on [0-9.:]+ never had a topic nowhere/)
  const wrong = await run('B', 'reverse', '--remote-bootstrap-server', brokers.source.bootstrap, '--topic', topic)
  expect(wrong).toMatchObject({ exitCode: 1 })
})

test('one that goes this way already and is paused is told, as it is not copied', async () => {
  const unchanged = { exitCode: 0, stdout: 'Reversed mirror m for 1 topic(s): [circle]\n' }
  expect(await run('A', 'pause', '--topic', 'circle')).toMatchObject({ exitCode: 0 })
  const stderr = 'kafka-mirrors: warning: topic circle of mirror m is paused; kafka-mirrors resume lets it go on\n'
  expect(await reverse('A', 'circle')).toMatchObject({ ...unchanged, stderr })
  expect(await run('A', 'resume', '--topic', 'circle')).toMatchObject({ exitCode: 0 })
  expect(await reverse('A', 'circle')).toMatchObject({ ...unchanged, stderr: '' })
})

test('topics that were created on the other cluster while it led are named, with what takes them', async () => {
  const { destination, source } = brokers
  const names = Array.from({ length: 11 }, (_, i) => `new-${10 + i}`)
  await Promise.all([...names, 'new-left-out', 'other'].map((topic) => destination.admin.createTopic(topic)))
  const patterns = ['mirror.topics.include=new-.*', 'mirror.topics.exclude=.*-out'].flatMap((setting) => ['--add-config', setting])
  expect(await run('B', 'alter', ...patterns)).toMatchObject({ exitCode: 0 })
  const plan = async (...words: string[]) =>
    (await run('A', 'reverse', '--remote-bootstrap-server', destination.bootstrap, '--dry-run', ...words)).stderr
  const warning = await eventually(async () => {
    const told = await plan()
    return told.includes('11 topic(s)') && told
  })
  const add = `add --bootstrap-server ${source.bootstrap} --mirror m --topic ${names.slice(0, 10).join(',')}`
  expect(warning).toContain(
    `warning: 11 topic(s) of ${destination.bootstrap} that the patterns of mirror m match are in neither mirror and are not copied back: ${names.slice(0, 10).join(', ')} and 1 more; kafka-mirrors ${add} takes the first ones`,
  )
  expect(await plan('--topic', 'circle')).not.toContain('neither')
  const added = await run('A', 'add', '--topic', names.slice(0, 10).join(','))
  expect(added, added.stderr).toMatchObject({ exitCode: 0 })
  expect(await plan()).toContain(
    `not copied back: new-20; kafka-mirrors add --bootstrap-server ${source.bootstrap} --mirror m --topic new-20 takes them`,
  )
  await run('B', 'alter', '--delete-config', 'mirror.topics.include', '--delete-config', 'mirror.topics.exclude')
})

describe('after a disaster', () => {
  /** Removed from B with A out of reach, as far as B knows. */
  async function failedOver(topic: string, lost: number, configs: Record<string, string> = {}): Promise<void> {
    await mirrored(topic, configs)
    there.runners.at(-1)!.freeze()
    if (lost > 0) await writeLog(brokers.worker, brokers.source, { topic, records: lost })
    const removed = await run('B', 'remove', '--topic', topic, '--wait=1s')
    there.runners.at(-1)!.thaw()
    expect(removed, removed.stderr).toMatchObject({ exitCode: 0 })
  }

  test('an old source that did not go on alone gets the difference, behind the fence of the failover', async () => {
    const topics = ['quiet', 'stamped']
    await failedOver('quiet', 0)
    await failedOver('stamped', 0, { 'message.timestamp.type': 'LogAppendTime' })
    const before = new Map<string, Awaited<ReturnType<typeof content>>>()
    for (const topic of topics) {
      await writeMixed('B', topic)
      before.set(topic, await content('A', topic))
    }
    const plan = await reverse('A', 'quiet', '--dry-run')
    expect(plan, plan.stderr).toMatchObject({ exitCode: 0 })
    expect(plan.stdout).toMatch(/continued/)
    // What is there is as good as it was before a runner has taken it up, and while it lags.
    back.runners.at(-1)!.freeze()
    for (const topic of topics) expect(await reverse('A', topic)).toMatchObject({ exitCode: 0, stderr: '' })
    await expectVerified('A', ...topics)
    back.runners.at(-1)!.thaw()
    for (const topic of topics) {
      await back.caughtUp(topic)
      await expectSame(topic)
      expect((await content('A', topic)).map(({ records }, i) => records.slice(0, before.get(topic)![i]!.records.length))).toEqual(
        before.get(topic)!.map(({ records }) => records),
      )
    }
    await expectVerified('A', ...topics)
  })

  test('one that did, and has deleted it since, does not go on behind offsets that it never gets', async () => {
    const topic = 'emptied'
    await failedOver(topic, 3)
    await writeMixed('B', topic)
    const own = await ends('A', topic)
    for (const [partition, end] of own.entries()) await brokers.source.admin.deleteRecords(topic, partition, end)
    const refused = await reverse('A', topic)
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
    expect(refused.stderr).toContain(`has not: offsets up to ${own[0]! - 1n} of partition 0, of which nothing is left — see`)
  })

  test('one that was away while the other cluster deleted what it lacks is refused, and goes on without when told to', async () => {
    const topic = 'expired'
    await failedOver(topic, 0)
    const own = await ends('A', topic)
    await writeMixed('B', topic)
    await brokers.destination.admin.deleteRecords(topic, 0, own[0]! + 5n)
    const refused = await reverse('A', topic)
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
    expect(refused.stderr).toMatch(
      /that this cluster lacks are no longer on [0-9.:]+: (\d+) to (\d+) of partition 0 — to go on without them run alter/,
    )
    expect(refused.stderr).toContain(`: ${own[0]} to ${own[0]! + 4n} of partition 0 —`)
    const setting = ['--add-config', 'mirror.on.gap=record']
    expect(await run('A', 'alter', ...setting)).toMatchObject({ exitCode: 0 })
    const reversed = await reverse('A', topic)
    expect(reversed, reversed.stderr).toMatchObject({ exitCode: 0 })
    await back.caughtUp(topic)
    await expectVerified('A', topic)
    await run('A', 'alter', '--delete-config', 'mirror.on.gap')
  })

  test('one that did is refused, and reseeded with what it alone has kept', async () => {
    const topic = 'split'
    await failedOver(topic, 7)
    await writeMixed('B', topic)
    const [end] = await ends('A', topic)
    await writeRecords(brokers.worker, brokers.source, { topic, list: [foreign('alone', 0)] })
    const refused = await reverse('A', topic)
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
    expect(refused.stderr).toContain(
      `topic split went on alone on this cluster, which has what ${brokers.destination.bootstrap} has not: 8 offset(s), ${end! - 7n} to ${end!}, of partition 0 with 8 visible record(s)`,
    )
    const shown = await reverse('A', topic, '--dry-run', '--json')
    expect(shown.exitCode).toBe(1)
    const [row] = JSON.parse(shown.stdout).topics
    expect(row).toMatchObject({ how: 'none', needs: 'on-divergence' })
    expect(row.partitions).toMatchObject([
      { partition: 0, lastMirrored: String(end! - 7n), differsFrom: String(end! - 7n), divergedOffsets: '8', divergedRecords: 8 },
      { partition: 1 },
    ])
    const file = join(dir, 'remote.properties')
    writeFileSync(file, `bootstrap.servers=${brokers.destination.bootstrap}\nclient.id=back\n`)
    const words = ['reverse', '--remote-config', file, '--topic', topic, '--on-divergence', 'reseed', '--yes']
    const tail = async () => Object.keys(await brokers.source.admin.topics()).find((name) => name.startsWith('split.diverged-'))
    // Killed in the middle, or right after the end: it is finished by running it again.
    const first = start('A', ...words)
    const kept = await eventually(tail, { every: 5 })
    first.child.kill('SIGKILL')
    await first.ended
    const done = await run('A', ...words, '--wait=60s')
    expect(done, done.stderr).toMatchObject({ exitCode: 0 })
    await back.caughtUp(topic)
    await expectSame(topic)
    const [log] = await readLog(brokers.worker, brokers.source, { topic: kept })
    expect(log!.records).toHaveLength(8)
    expect(log!.records.at(-1)!.value).toContain(Buffer.from('alone').toString('hex'))
  })
})

describe('compacted by each side for itself', () => {
  const COMPACT = { 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0.001', 'segment.ms': '100' }
  const LATER = { 'min.compaction.lag.ms': '86400000' }
  const NOW = { 'min.compaction.lag.ms': '0' }
  const hex = (text: string) => Buffer.from(text).toString('hex')

  /** Updates of few keys, and one record more which is so much younger that they are no longer in the active segment. */
  async function update(side: Side, topic: string, seed: number): Promise<void> {
    const { worker } = brokers
    const keyed = { topic, style: 'keyed', keys: 5, seed } as const
    await writeTransactions(worker, clusterOf(side), {
      ...keyed,
      transactionalId: `${topic}-${side}`,
      transactions: 6,
      records: 10,
      abortEvery: 3,
    })
    await writeLog(worker, clusterOf(side), { ...keyed, records: 20 })
    await writeRecords(worker, clusterOf(side), {
      topic,
      list: [{ key: hex(`last ${seed}`), value: hex('x'), timestamp: Date.now() + 60_000 }],
    })
  }

  const visible = async (side: Side, topic: string) => (await content(side, topic))[0]!.records.map(({ offset }) => Number(offset))

  /** Lets the cleaner at the topic, and waits until it has taken most of what lies between. */
  async function thin(side: Side, topic: string, from: number, to: number): Promise<void> {
    await clusterOf(side).admin.alterTopicConfigs(topic, NOW)
    const left = async () => (await visible(side, topic)).filter((offset) => offset >= from && offset < to - 1)
    await eventually(async () => (await left()).length < 20, { every: 200, what: `Cleaning ${topic} on ${side}` })
  }

  test('it goes on where it was; what is written to it before a runner comes is found, where the source has nothing left', async () => {
    const { worker, source } = brokers
    const topics = ['thinned', 'late', 'alone']
    const end = async (side: Side, topic: string) => Number((await ends(side, topic))[0])
    const failOver = async (topic: string) => {
      await source.admin.createTopic(topic, { configs: COMPACT })
      await update('A', topic, 1)
      // Holes that are filled on the other side.
      const holes = await end('A', topic)
      await thin('A', topic, 0, holes)
      await source.admin.alterTopicConfigs(topic, LATER)
      await update('A', topic, 2)
      await there.add(topic)
      await there.caughtUp(topic)
      const moved = await run('B', 'remove', '--topic', topic, '--drain=60s')
      expect(moved, moved.stderr).toMatchObject({ exitCode: 0 })
      // What both have is thinned on either side, and by later updates on one.
      const left = await end('B', topic)
      await update('B', topic, 3)
      await Promise.all([thin('A', topic, holes, left), thin('B', topic, holes, await end('B', topic))])
      expect(await visible('B', topic)).not.toContain(left)
    }
    await Promise.all(topics.map(failOver))
    back.runners.at(-1)!.freeze()
    for (const topic of ['thinned', 'late']) {
      const reversed = await reverse('A', topic)
      expect(reversed, reversed.stderr).toMatchObject({ exitCode: 0, stderr: '' })
    }
    await expectVerified('A', 'thinned', 'late')
    const first = await end('A', 'late')
    await writeRecords(worker, source, { topic: 'late', list: [foreign('late')] })
    back.runners.at(-1)!.thaw()
    await back.caughtUp('thinned')
    await expectVerified('A', 'thinned')
    const [[a], [b]] = await Promise.all([content('A', 'thinned'), content('B', 'thinned')])
    expect(compactedDifferences(0, b!.records, a!.records)).toEqual([])
    const failed = await eventually(async () => {
      const status = await back.status('late')
      return status?.state === 'FAILED' && status.error
    })
    expect(failed.message).toContain(`late-0 ends at offset ${first + 1} on the destination but ended at ${first} when it was added`)
    const recovered = await run('A', 'recover', '--topic', 'late', '--on-divergence', 'reseed', '--yes', '--json')
    expect(recovered, recovered.stderr).toMatchObject({ exitCode: 0 })
    const [recovery] = JSON.parse(recovered.stdout).topics
    expect(recovery).toMatchObject({ partitions: [{ problem: 'divergence', differsFrom: String(first) }], kept: { records: 1 } })

    // The same where it was written before: it is kept, though the other cluster has nothing at its offset.
    const alone = await end('A', 'alone')
    await writeRecords(worker, source, { topic: 'alone', list: [foreign('alone')] })
    const refused = await reverse('A', 'alone')
    expect(refused.stderr).toContain(`1 offset(s), ${alone} to ${alone}, of partition 0 with 1 visible record(s)`)
    const reseeded = await reverse('A', 'alone', '--on-divergence', 'reseed', '--yes', '--json')
    expect(reseeded, reseeded.stderr).toMatchObject({ exitCode: 0 })
    expect(JSON.parse(reseeded.stdout).topics).toMatchObject([{ how: 'reseeded', kept: { records: 1 } }])
    for (const topic of ['late', 'alone']) await back.caughtUp(topic)
    await expectVerified('A', 'late', 'alone')
  })
})
