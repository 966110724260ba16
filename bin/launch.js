'use strict'
// CommonJS, and nothing newer than an old Node can read: this file has to be able to say that the Node is too old.
// (bin/package.json makes it so; as an ES module a file that ends in .sh could not even be loaded.)
const fs = require('node:fs')
const path = require('node:path')
const url = require('node:url')

const root = path.dirname(__dirname)

function refuse(line) {
  process.stderr.write(`kafka-mirrors: ${line}\n`)
  process.exit(1)
}

function newEnough(version, floor) {
  const have = version.split('.').map(Number)
  const need = floor.split('.').map(Number)
  return have[0] > need[0] || (have[0] === need[0] && have[1] >= need[1])
}

/** Starts the program. `spelling` is 'verbs' (`kafka-mirrors add …`) or 'kip' (`kafka-mirrors.sh --add …`). */
exports.launch = (spelling) => {
  const manifest = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
  const floor = manifest.engines.node.replace(/[^0-9.]/g, '')
  if (!newEnough(process.versions.node, floor)) {
    refuse(`needs Node ${floor} or newer, this is ${process.versions.node} — install a newer Node and try again`)
  }
  const dist = path.join(root, 'dist')
  const main = path.join(dist, 'src', 'cli', 'main.js')
  if (!fs.existsSync(main)) refuse(`not built yet — run npm install (or npm run build) in ${root}`)
  const load = (...parts) => import(url.pathToFileURL(path.join(dist, ...parts)).href)
  load('src', 'cli', 'main.js').then(
    (module) => module.main(process.argv.slice(2), { root, manifest, spelling, loadCommand: (name) => load('commands', `${name}.js`) }),
    (error) => refuse(`cannot be loaded: ${error.message} — run npm install (or npm run build) in ${root}`),
  )
}
