export * from '../mirror/failures.js'
