/** The package's public entry: `import { MirrorAdmin } from 'kafka-mirrors'`. */
export { MirrorError, type MirrorErrorCode, type MirrorErrorKind } from '../mirror/errors.js'
export { MirrorAdmin } from './mirror-admin.js'
export type * from './types.js'
