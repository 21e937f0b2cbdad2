import cluster from 'node:cluster'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded first (`--import`) into the processes that `npm start` starts: when its end of the channel closes, however it
 * ended, they stop as if told to. Processes and threads of theirs are theirs to stop.
 */
if (isMainThread && cluster.isPrimary && process.connected) {
  process.channel?.unref()
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
