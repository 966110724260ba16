import { readFile } from 'node:fs/promises'
import { findJava } from '../../src/playground/java.js'
import { kafkaJars } from '../../src/playground/kafka-jars.js'
import { type CommandOptions, type CommandResult, runCommand } from '../../src/playground/process.js'
import { TEST_ENV } from './kafka-worker.js'

// Newest place of each class first; older versions have it in another package.
const TOOLS = {
  'kafka-topics': ['org.apache.kafka.tools.TopicCommand', 'kafka.admin.TopicCommand'],
  'kafka-configs': ['org.apache.kafka.tools.ConfigCommand', 'kafka.admin.ConfigCommand'],
  'kafka-acls': ['org.apache.kafka.tools.AclCommand', 'kafka.admin.AclCommand'],
  'kafka-consumer-groups': ['org.apache.kafka.tools.consumer.group.ConsumerGroupCommand', 'kafka.admin.ConsumerGroupCommand'],
  'kafka-console-producer': ['org.apache.kafka.tools.ConsoleProducer', 'kafka.tools.ConsoleProducer'],
  'kafka-console-consumer': ['org.apache.kafka.tools.consumer.ConsoleConsumer', 'kafka.tools.ConsoleConsumer'],
  'kafka-producer-perf-test': ['org.apache.kafka.tools.ProducerPerformance'],
  'kafka-dump-log': ['org.apache.kafka.tools.DumpLogSegments', 'kafka.tools.DumpLogSegments'],
  'kafka-get-offsets': ['org.apache.kafka.tools.GetOffsetShell', 'kafka.tools.GetOffsetShell'],
  'kafka-transactions': ['org.apache.kafka.tools.TransactionsCommand'],
} as const

export type KafkaTool = keyof typeof TOOLS

/** Runs one of Kafka's own tools of a version to its end, in at most `timeoutMs` (default: a minute). */
export async function runKafkaTool(
  version: string,
  tool: KafkaTool,
  args: readonly string[],
  options: Pick<CommandOptions, 'timeoutMs' | 'input'> = {},
): Promise<CommandResult> {
  const [java, jars] = await Promise.all([findJava(version, TEST_ENV), kafkaJars({ version, env: TEST_ENV })])
  const main = await mainClass(jars.classpath.split(':'), TOOLS[tool])
  const flags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xmx256m', '-Dorg.slf4j.simpleLogger.defaultLogLevel=error']
  return runCommand(java.command, [...flags, '-cp', jars.classpath, main, ...args], { timeoutMs: 60_000, ...options })
}

/** The first of the classes that a jar holds; a jar's table of contents is uncompressed. */
async function mainClass(jars: readonly string[], candidates: readonly string[]): Promise<string> {
  const contents = await Promise.all(jars.filter((jar) => /kafka(_2\.13|-tools)-[^/]*\.jar$/.test(jar)).map((jar) => readFile(jar)))
  const found = candidates.find((name) => contents.some((content) => content.includes(`${name.replaceAll('.', '/')}.class`)))
  if (!found) throw new Error(`This Kafka version has no ${candidates[0]}`)
  return found
}
