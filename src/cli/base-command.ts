import { Command } from '@oclif/core/command'
import type { Config } from '@oclif/core/config'
import { isClientKey } from '../client/config-keys.js'
import type { MirrorError } from '../mirror/errors.js'
import type { MirrorAdmin } from '../service/mirror-admin.js'
import { type ConnectionFlags, connectionProperties } from './connection.js'
import { errorLine, InterruptedError, ItemsFailedError, wrongUse } from './errors.js'
import { toJson } from './json.js'
import type { Column } from './table.js'
import { canAsk, processTerminal, type Terminal, wantsColour, whenAborted } from './terminal.js'

/** What commands need of {@link MirrorAdmin}; tests hand in an object. */
export type Admin = Omit<MirrorAdmin, 'unknownProperties'>

/** A verb: what the module of a command exports by default. */
export type CommandClass = new (argv: string[], config: Config) => BaseCommand

/** The world around a command. */
export interface Surroundings {
  readonly terminal: Terminal
  readonly createAdmin: (properties: ReadonlyMap<string, string>) => Promise<Admin>
}

/** Flags that say how a result is printed. */
export interface OutputFlags {
  readonly output?: string | undefined
  readonly json?: boolean | undefined
  readonly 'no-headers'?: boolean | undefined
  readonly 'no-color'?: boolean | undefined
}

const realSurroundings = (): Surroundings => ({
  terminal: processTerminal(),
  // Loaded when first needed: `--help` and a wrong flag are not to wait for the network code.
  createAdmin: async (properties) => new (await import('../service/mirror-admin.js')).MirrorAdmin(properties),
})

/**
 * What all verbs share: data on stdout and everything else on stderr, JSON of our own (oclif's breaks at a bigint and
 * silences warnings), errors thrown to {@link main} untouched, one admin that is opened late and always closed.
 */
export abstract class BaseCommand extends Command {
  /** Flags that may stand without a value, and the value they then have: oclif knows no such flags. */
  static optionalValues: Readonly<Record<string, string>> = {}

  protected surroundings: Surroundings = realSurroundings()
  private openedAdmin: Admin | undefined

  /** Runs the verb. Rejects with whatever went wrong, {@link InterruptedError} included; never ends the process. */
  async execute(surroundings: Partial<Surroundings> = {}): Promise<void> {
    this.surroundings = { ...this.surroundings, ...surroundings }
    const work = this._run()
    if (this.drains) await work
    else await Promise.race([work, rejectOnAbort(this.terminal.signal)])
  }

  override async init(): Promise<void> {
    await super.init()
    this.argv = fillOptionalValues(this.argv, (this.constructor as typeof BaseCommand).optionalValues)
  }

  /** oclif would set exit codes and print here; {@link main} does. */
  override async catch(error: Error): Promise<void> {
    throw error
  }

  override async finally(): Promise<void> {
    await this.openedAdmin?.close()
  }

  /** Whether the command ends by itself when interrupted; others are left where they are. */
  protected get drains(): boolean {
    return false
  }

  protected get terminal(): Terminal {
    return this.surroundings.terminal
  }

  /** The admin of the cluster the connection flags name. Nothing is sent before it is used. */
  protected async admin(flags: ConnectionFlags): Promise<Admin> {
    this.openedAdmin ??= await this.surroundings.createAdmin(await this.connection(flags))
    return this.openedAdmin
  }

  /** The client properties the connection flags stand for; keys no Kafka client knows are told on stderr. */
  protected async connection(flags: ConnectionFlags): Promise<Map<string, string>> {
    const properties = await connectionProperties(flags, this.terminal.env)
    const unknown = [...properties.keys()].filter((key) => !isClientKey(key))
    this.warnings(unknown.map((key) => `${key} is not a property of Kafka clients; it has no effect`))
    return properties
  }

  /** Writes to stdout as it is. */
  protected print(text: string): void {
    this.terminal.stdout.write(text)
  }

  /** A line on stderr. */
  protected tell(line: string): void {
    this.terminal.stderr.write(`${line}\n`)
  }

  protected warnings(sentences: readonly string[]): void {
    for (const sentence of new Set(sentences)) this.tell(`kafka-mirrors: warning: ${sentence.replace(/\s*\n\s*/g, ' ')}`)
  }

  protected wantsJson(flags: OutputFlags): boolean {
    return flags.json === true || flags.output === 'json'
  }

  protected async printTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], flags: OutputFlags): Promise<void> {
    this.print(await this.tableText(columns, rows, flags))
  }

  protected async tableText<Row>(columns: readonly Column<Row>[], rows: readonly Row[], flags: OutputFlags): Promise<string> {
    const { renderTable } = await import('./table.js')
    return renderTable(columns, rows, {
      headers: flags['no-headers'] !== true,
      wide: flags.output === 'wide',
      colour: this.wantsColourOn(this.terminal.stdout, flags),
    })
  }

  protected wantsColourOn(output: Terminal['stdout'], flags: { 'no-color'?: boolean | undefined }): boolean {
    return wantsColour(output, this.terminal.env, flags['no-color'] === true)
  }

  /** The result of a verb that changes something: a sentence, or the same as JSON. */
  protected printResult(flags: OutputFlags, sentence: string | undefined, json: unknown): void {
    if (this.wantsJson(flags)) this.print(toJson(json))
    else if (sentence !== undefined) this.print(`${sentence}\n`)
  }

  /**
   * Reports the failed ones of many on stderr, and only then waits for the others, which takes long and may fail in its turn. Throws
   * {@link ItemsFailedError} behind that if there are any; to be called last.
   */
  protected async failIfAnyFailed(
    results: readonly { ok: boolean; error?: MirrorError }[],
    wait: () => Promise<void> = async () => {},
  ): Promise<void> {
    const errors = results.flatMap((result) => (result.error ? [result.error] : []))
    for (const error of errors) this.tell(`kafka-mirrors: ${errorLine(error)}`)
    await wait()
    if (errors.length > 0) throw new ItemsFailedError(errors.every((error) => error.kind === 'usage') ? 2 : 1)
  }

  /**
   * Whether to ask before something that cannot be taken back: not with `--yes`, nor where nothing is done. Without a terminal scripts
   * act, as the KIP's tools do, unless that is `refused`, for which it is wrong use.
   */
  protected asksFirst(flags: { yes: boolean; 'dry-run': boolean }, refused?: string): boolean {
    if (flags.yes || flags['dry-run']) return false
    const asks = canAsk(this.terminal)
    if (!asks && refused !== undefined) throw wrongUse(`${refused} needs --yes`, 'see what it would do with --dry-run')
    return asks
  }

  /** Shows what would be done, and asks. Throws when the answer is no. */
  protected async ask<Row>(question: string, columns: readonly Column<Row>[], rows: readonly Row[]): Promise<void> {
    const { confirm } = await import('./prompt.js')
    if (rows.length > 0) this.tell(await this.tableText(columns, rows, {}))
    const yes = await confirm(this.terminal, question)
    if (this.terminal.signal.aborted) throw new InterruptedError()
    if (!yes) throw Object.assign(new Error('not confirmed, nothing was changed'), { advice: '--yes answers beforehand' })
  }
}

/** Gives a flag of `defaults` that stands alone its value: `--watch` becomes `--watch=2s`, `--watch 5s` becomes `--watch=5s`. */
export function fillOptionalValues(argv: readonly string[], defaults: Readonly<Record<string, string>>): string[] {
  const filled: string[] = []
  const end = argv.indexOf('--') === -1 ? argv.length : argv.indexOf('--')
  for (let i = 0; i < argv.length; i++) {
    const value = i < end && argv[i]!.startsWith('--') ? defaults[argv[i]!.slice(2)] : undefined
    if (value === undefined) filled.push(argv[i]!)
    // No verb takes arguments, so what follows without a dash can only be the value.
    else if (i + 1 < end && !argv[i + 1]!.startsWith('-')) filled.push(`${argv[i]}=${argv[++i]}`)
    else filled.push(`${argv[i]}=${value}`)
  }
  return filled
}

async function rejectOnAbort(signal: AbortSignal): Promise<never> {
  await whenAborted(signal)
  throw new InterruptedError()
}

/** One name of a flag that takes lists. Throws a usage error when there are none or several. */
export function onlyOne(values: readonly string[], flag: string): string {
  if (values.length !== 1) throw wrongUse(`${flag} takes one value here, not ${values.length}`)
  return values[0]!
}
