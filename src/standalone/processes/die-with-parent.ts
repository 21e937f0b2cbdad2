import cluster from 'node:cluster'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded first (`--import`) into the processes that `npm start` starts. When the parent's end of the channel
 * closes, for any reason, the process stops as at a stop signal. Child processes and threads are its own to
 * stop.
 */
if (isMainThread && cluster.isPrimary && process.connected) {
  process.channel?.unref()
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
