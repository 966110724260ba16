import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const ROOT = new URL('../..', import.meta.url).pathname

/** From the command line down to the bytes; a file may import from its own room and from rooms in later rows. */
const ROOMS: readonly (readonly string[])[] = [
  ['bin'],
  ['commands'],
  ['cli', 'service', 'playground'],
  ['engine', 'sync'],
  ['mirror'],
  ['client'],
  ['records'],
  ['protocol'],
]
/** Side by side in one row, and yet one may see the other. */
const NEIGHBOURS = new Set(['cli → service', 'playground → service', 'playground → cli'])
const THE_DOOR = /^src\/client\/kafkajs[^/]*\.ts$/

interface Import {
  readonly file: string
  readonly line: number
  readonly from: string
  readonly typeOnly: boolean
}

function files(directory: string): string[] {
  return readdirSync(join(ROOT, directory), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|js|sh)$/.test(name))
    .map((name) => join(directory, name))
    .sort()
}

const SOURCES = ['bin', 'commands', 'src'].flatMap(files)
const parsed = new Map<string, ts.SourceFile>()
function parse(file: string): ts.SourceFile {
  let source = parsed.get(file)
  if (source === undefined) {
    source = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest, true)
    parsed.set(file, source)
  }
  return source
}

function visit(source: ts.SourceFile, see: (node: ts.Node) => void): void {
  const walk = (node: ts.Node): void => {
    see(node)
    ts.forEachChild(node, walk)
  }
  walk(source)
}

const lineOf = (source: ts.SourceFile, node: ts.Node) => source.getLineAndCharacterOfPosition(node.getStart()).line + 1

function importsOf(file: string): Import[] {
  const source = parse(file)
  const found: Import[] = []
  const add = (node: ts.Node, specifier: ts.Node | undefined, typeOnly: boolean) => {
    if (specifier !== undefined && ts.isStringLiteralLike(specifier))
      found.push({ file, line: lineOf(source, node), from: specifier.text, typeOnly })
  }
  visit(source, (node) => {
    if (ts.isImportDeclaration(node)) {
      const clause = node.importClause
      const named = clause?.namedBindings
      const all = named !== undefined && ts.isNamedImports(named) && named.elements.every((element) => element.isTypeOnly)
      add(node, node.moduleSpecifier, clause !== undefined && (clause.isTypeOnly || (all && clause.name === undefined)))
    } else if (ts.isExportDeclaration(node)) add(node, node.moduleSpecifier, node.isTypeOnly)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node, node.arguments[0], false)
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node, node.argument.literal, true)
  })
  return found
}

const IMPORTS = SOURCES.filter((file) => !file.endsWith('.sh')).flatMap(importsOf)
const isOurs = ({ from }: Import) => from.startsWith('.')
const roomOf = (file: string) => (file.startsWith('src/') ? file.split('/')[1]! : file.split('/')[0]!)
const targetOf = ({ file, from }: Import) => roomOf(relative(ROOT, join(ROOT, file, '..', from)))
const say = (i: Import) => `${i.file}:${i.line} imports ${i.from}`

function mayImport(from: string, to: string): boolean {
  const row = (room: string) => ROOMS.findIndex((rooms) => rooms.includes(room))
  if (from === to || NEIGHBOURS.has(`${from} → ${to}`)) return true
  return row(from) >= 0 && row(to) > row(from)
}

describe('the rooms', () => {
  it('looks at all of the source', () => {
    const rooms = new Set(SOURCES.map(roomOf))
    for (const room of ['bin', 'commands', 'cli', 'service', 'engine', 'mirror', 'client', 'records', 'protocol', 'observe'])
      expect(rooms).toContain(room)
    expect(IMPORTS.filter(isOurs).length).toBeGreaterThan(100)
  })

  it('import from rooms to the right only', () => {
    const watched = IMPORTS.filter(isOurs).filter(({ file }) => roomOf(file) !== 'observe')
    const wrong = watched.filter((i) => targetOf(i) !== 'observe' && !mayImport(roomOf(i.file), targetOf(i)))
    expect(wrong.map(say)).toEqual([])
  })

  it('keep observing apart: only commands start it, and it sees nothing of ours but types of engine, sync and mirror', () => {
    const users = IMPORTS.filter((i) => isOurs(i) && targetOf(i) === 'observe' && !['observe', 'commands'].includes(roomOf(i.file)))
    expect(users.map(say)).toEqual([])
    const seen = IMPORTS.filter((i) => roomOf(i.file) === 'observe' && isOurs(i) && targetOf(i) !== 'observe')
    expect(seen.filter((i) => !(i.typeOnly && ['engine', 'sync', 'mirror'].includes(targetOf(i)))).map(say)).toEqual([])
  })

  it('keep the pure ones free of input and output', () => {
    const outside = new Set(
      builtinModules.filter((name) => !['buffer', 'util', 'zlib', 'assert', 'module'].includes(name)).map((name) => `node:${name}`),
    )
    const wrong = IMPORTS.filter((i) => ['protocol', 'records', 'mirror'].includes(roomOf(i.file)) && outside.has(i.from))
    expect(wrong.map(say)).toEqual([])
  })

  it('know kafkajs through one door', () => {
    const wrong = IMPORTS.filter(({ file, from }) => /^kafkajs(\/|$)/.test(from) && !THE_DOOR.test(file))
    expect(wrong.map(say)).toEqual([])
  })

  it('use no type that turns checking off, outside that door', () => {
    const wrong: string[] = []
    for (const file of SOURCES.filter((name) => name.endsWith('.ts') && !THE_DOOR.test(name))) {
      const source = parse(file)
      visit(source, (node) => {
        if (node.kind === ts.SyntaxKind.AnyKeyword) wrong.push(`${file}:${lineOf(source, node)}`)
        if (ts.isEnumDeclaration(node)) wrong.push(`${file}:${lineOf(source, node)} has an enum`)
      })
    }
    expect(wrong).toEqual([])
  })

  it('leave nothing to be done later', () => {
    const later = new RegExp(`\\b(${['TO', 'FIX'].map((word, i) => word + ['DO', 'ME'][i]).join('|')})\\b`)
    const wrong = [...SOURCES, ...files('test')].filter((file) => later.test(readFileSync(join(ROOT, file), 'utf8')))
    expect(wrong).toEqual([])
  })
})
