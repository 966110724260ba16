export * from '../sync/topics/topic-settings.js'
