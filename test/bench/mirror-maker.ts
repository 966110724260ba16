import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Child } from './child.js'
import type { CopyJob, RunningPeer } from './peers.js'
import type { Tools } from './tools.js'

/** MirrorMaker 2, tuned for throughput, or left at low linger for latency. Its cluster aliases are new each time, so that it starts over. */
export async function startMirrorMaker(job: CopyJob, tools: Tools): Promise<RunningPeer> {
  const source = `s${job.label}`
  const destination = `d${job.label}`
  const file = join(tools.workDir, `mm2-${job.label}.properties`)
  await writeFile(file, propertiesOf(job, source, destination))
  const flags = ['-Xmx2g', '-XX:+UseG1GC', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', tools.mirrorMakerClasspath]
  const child = Child.start('MirrorMaker 2', tools.java, [...flags, 'org.apache.kafka.connect.mirror.MirrorMaker', file])
  return { child, stop: () => child.stop() }
}

function propertiesOf(job: CopyJob, source: string, destination: string): string {
  const throughput = {
    [`${destination}.producer.batch.size`]: '131072',
    [`${destination}.producer.linger.ms`]: '20',
    [`${destination}.producer.buffer.memory`]: '134217728',
    [`${source}.consumer.max.poll.records`]: '5000',
  }
  return Object.entries({
    clusters: `${source},${destination}`,
    [`${source}.bootstrap.servers`]: job.source,
    [`${destination}.bootstrap.servers`]: job.destination,
    [`${source}->${destination}.enabled`]: 'true',
    [`${source}->${destination}.topics`]: job.topic,
    'replication.policy.class': 'org.apache.kafka.connect.mirror.IdentityReplicationPolicy',
    'replication.factor': '1',
    'checkpoints.topic.replication.factor': '1',
    'heartbeats.topic.replication.factor': '1',
    'offset-syncs.topic.replication.factor': '1',
    'offset.storage.replication.factor': '1',
    'status.storage.replication.factor': '1',
    'config.storage.replication.factor': '1',
    'offset.storage.partitions': '1',
    'status.storage.partitions': '1',
    'tasks.max': '2',
    'emit.heartbeats.enabled': 'false',
    'emit.checkpoints.enabled': 'false',
    'sync.topic.acls.enabled': 'false',
    'sync.topic.configs.enabled': 'false',
    [`${source}.consumer.auto.offset.reset`]: 'earliest',
    [`${source}.consumer.isolation.level`]: 'read_committed',
    [`${source}.consumer.fetch.max.bytes`]: '16000000',
    [`${source}.consumer.max.partition.fetch.bytes`]: '4000000',
    [`${destination}.producer.compression.type`]: job.compression,
    ...(job.latency ? {} : throughput),
  })
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}
