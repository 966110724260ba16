import { basename, relative } from 'node:path'

/** How the user can call this program again, from how it was called: `node bin/run.js`, `npx kafka-mirrors`, `kafka-mirrors`. */
export function asTyped(script: string, folder: string): string {
  if (basename(script) === 'run.js') return `node ${relative(folder, script)}`
  return script.includes('node_modules') ? 'npx kafka-mirrors' : 'kafka-mirrors'
}
