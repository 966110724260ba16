import type { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { type Logger, pino } from 'pino'
import pretty from 'pino-pretty'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LogOptions {
  /** Where lines go; stderr for a program whose stdout is data. */
  readonly stream: Writable
  /** True: lines for a person. False: one JSON object a line, `time` in milliseconds since the epoch, `msg` the sentence. */
  readonly human: boolean
  readonly colour?: boolean
  readonly level?: LogLevel
}

/**
 * A logger that writes each line at once: there is no worker and no buffer, so that a line written before a crash is there.
 * A person's line is `21:58:42.123 WARN  the sentence  mirror=m topic=t partition=0`; stacks are in the JSON form only.
 */
export function createLog({ stream, human, colour = false, level = 'info' }: LogOptions): Logger {
  if (!human) return pino({ level, base: null, formatters: { level: (label) => ({ level: label }) } }, stream)
  // Time and level are put into the message: left to itself pino-pretty sets a colon between them and the sentence.
  const lines = pretty({ destination: stream, sync: true, colorize: colour, ignore: 'time,level', hideObject: true, messageFormat: lineOf })
  return pino({ level, base: null }, lines)
}

type Paint = (text: string) => string
const LEVELS: Readonly<Record<number, readonly [name: string, colour: 'gray' | 'green' | 'yellow' | 'red']>> = {
  20: ['DEBUG', 'gray'],
  30: ['INFO ', 'green'],
  40: ['WARN ', 'yellow'],
  50: ['ERROR', 'red'],
}

function lineOf(log: Readonly<Record<string, unknown>>, messageKey: string, _level: string, { colors }: { colors: unknown }): string {
  const paint = colors as Readonly<Record<string, Paint>>
  const [name, colour] = LEVELS[Number(log.level)] ?? ['ERROR', 'red']
  const head = `${paint.gray!(timeOf(new Date(Number(log.time))))} ${paint[colour]!(name)}`
  return [`${head} ${paint.reset!(oneLine(String(log[messageKey] ?? '')))}`, paint.gray!(details(log))]
    .filter((part) => part !== '')
    .join('  ')
}

const two = (n: number) => String(n).padStart(2, '0')
const timeOf = (t: Date) =>
  `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}.${String(t.getMilliseconds()).padStart(3, '0')}`

const SHOWN_ELSEWHERE = new Set(['time', 'level', 'msg', 'event', 'err'])

function details(log: Readonly<Record<string, unknown>>): string {
  return Object.entries(log)
    .filter(([key, value]) => !SHOWN_ELSEWHERE.has(key) && value !== undefined)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`)
    .join(' ')
}

const quoted = (text: string) => (/^[^\s"=\p{Cc}]+$/u.test(text) ? text : JSON.stringify(text))

/** Sentences may quote what a server sent: no line breaks, nothing that drives the terminal. */
const oneLine = (text: string) =>
  stripVTControlCharacters(text)
    .replace(/\s*[\r\n]+\s*/g, ' ')
    .replace(/\p{Cc}/gu, '')
