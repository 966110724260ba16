import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

// Warnings and errors on stdout, whichever logging library the jars bring: ours from Maven bring slf4j-simple, an
// unpacked Kafka 3 brings reload4j, an unpacked Kafka 4 log4j 2.
const RELOAD4J = `log4j.rootLogger=WARN, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=%p %m (%c)%n
`
const LOG4J2 = `rootLogger.level=warn
rootLogger.appenderRef.stdout.ref=stdout
appender.stdout.type=Console
appender.stdout.name=stdout
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=%p %m (%c)%n
`

/** Writes the files that `logFlags` points at. */
export async function writeLogSettings(folder: string): Promise<void> {
  await writeFile(join(folder, 'log4j.properties'), RELOAD4J)
  await writeFile(join(folder, 'log4j2.properties'), LOG4J2)
}

/** Java flags that make a broker print little more than why it can't start. */
export function logFlags(folder: string): string[] {
  return [
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    `-Dlog4j.configuration=file:${join(folder, 'log4j.properties')}`,
    `-Dlog4j2.configurationFile=${join(folder, 'log4j2.properties')}`,
    `-Dkafka.logs.dir=${folder}`,
  ]
}
