import { parentPort } from 'node:worker_threads'
import type { ThreadReply, ThreadRequest } from './journal-work.ts'
import { prepareOlder } from './prepare-older.ts'

// The thread for work on journals that would stall the event loop. One request at a time.
parentPort?.on('message', (request: ThreadRequest) => {
  parentPort?.postMessage(answer(request))
})

function answer(request: ThreadRequest): ThreadReply {
  const { id } = request
  try {
    return { id, task: 'prepare', prepared: prepareOlder(request.path) }
  } catch (error) {
    return { id, task: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}
