export * from '../sync/topics/log-bounds.js'
