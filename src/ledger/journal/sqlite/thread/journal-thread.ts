import { parentPort } from 'node:worker_threads'
import { checkpoint } from './checkpoint.ts'
import type { ThreadReply, ThreadRequest } from './journal-work.ts'
import { prepareForAdoption } from './prepare-for-adoption.ts'

// The thread for work on journals that would stall the event loop. One request at a time.
parentPort?.on('message', (request: ThreadRequest) => {
  parentPort?.postMessage(answer(request))
})

function answer(request: ThreadRequest): ThreadReply {
  const { id } = request
  try {
    switch (request.task) {
      case 'checkpoint':
        return { id, task: 'checkpoint', ...checkpoint(request.path, request.mode) }
      case 'prepare':
        return { id, task: 'prepare', prepared: prepareForAdoption(request.path) }
    }
  } catch (error) {
    return { id, task: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}
