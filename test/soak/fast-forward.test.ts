import { expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { writeLog } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { raiseLogStart } from '../support/segments.js'

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES, tuneFor: 'speed', heapMb: 1_024 } })
const mirroring = useMirroring(brokers)

const BEYOND_INT32 = 2n ** 31n + 5_000n

test('a log that begins beyond 2^31 is reached from an empty destination, every offset of it', async () => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic('far', { configs: { 'retention.ms': '-1' } })
  await writeLog(worker, source, { topic: 'far', records: 5_000, codec: 'lz4' })
  await source.broker.stop()
  await raiseLogStart(source.broker, 'far', 0, BEYOND_INT32)
  await source.broker.start()
  await mirroring.create()
  await mirroring.startRunner()
  await mirroring.add('far')
  await mirroring.caughtUp('far', 1_200_000)
  expect(await mirroring.differences('far')).toEqual([])
  expect(await destination.admin.offsets('far')).toEqual([
    { partition: 0, beginningOffset: BEYOND_INT32, endOffset: BEYOND_INT32 + 5_000n },
  ])
})
