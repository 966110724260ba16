import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { publish } from '../../../src/engine/events.js'
import { createLog, logEvents } from '../../../src/observe/index.js'

function sink() {
  let text = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      done()
    },
  })
  return { stream, text: () => text }
}

const event = {
  level: 'warn',
  event: 'partition-state',
  message: 'orders-0 is FAILED',
  mirror: 'm',
  topic: 'orders',
  partition: 0,
  offset: 2n ** 60n,
} as const

describe('the log', () => {
  it('is JSON, with int64 as text, where nobody reads along', () => {
    const out = sink()
    const stop = logEvents(createLog({ stream: out.stream, human: false }))
    publish(event)
    publish({ ...event, level: 'debug' })
    stop()
    publish(event)
    const { time, ...line } = JSON.parse(out.text())
    expect(time).toBeTypeOf('number')
    expect(line).toEqual({
      level: 'warn',
      msg: 'orders-0 is FAILED',
      event: 'partition-state',
      mirror: 'm',
      topic: 'orders',
      partition: 0,
      offset: '1152921504606846976',
    })
  })

  it('is one line an event on a terminal', () => {
    const out = sink()
    const stop = logEvents(createLog({ stream: out.stream, human: true }))
    publish(event)
    publish({ level: 'info', event: 'x', message: 'joined', why: 'two words', list: [1, 2] })
    stop()
    const [first, second, rest] = out.text().split('\n')
    expect(first).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} WARN {2}orders-0 is FAILED {2}mirror=m topic=orders partition=0 offset=1152921504606846976$/,
    )
    expect(second).toMatch(/INFO {2}joined {2}why="two words" list=\[1,2\]$/)
    expect(rest).toBe('')
  })

  it('lets nothing quoted from a server break the line or drive the terminal', () => {
    const out = sink()
    createLog({ stream: out.stream, human: true }).warn({ said: '\u001b[2J' }, 'it said: a\r\n  b\u001b[2J\u0007c')
    expect(out.text()).toMatch(/WARN {2}it said: a bc {2}said="\\u001b\[2J"\n$/)
  })

  it('is coloured only when asked', () => {
    const [plain, coloured] = [sink(), sink()]
    createLog({ stream: plain.stream, human: true }).info('hello')
    createLog({ stream: coloured.stream, human: true, colour: true }).info('hello')
    expect(coloured.text()).not.toBe(stripVTControlCharacters(coloured.text()))
    expect(plain.text()).toBe(stripVTControlCharacters(plain.text()))
    expect(stripVTControlCharacters(coloured.text()).slice(12)).toBe(plain.text().slice(12))
  })
})
