import { Worker } from 'node:worker_threads'
import type { EstimateAnswer, EstimateJob } from './estimate-thread.ts'

/** A thread without work ends after this, and gives back some 80 MB; starting one takes 0.2 s. */
const IDLE_MS = 10 * 60_000
/** Estimates under way, so that a crowd of clients leaving at once cannot fill the memory. */
const MAX_WAITING = 1000
/** What the thread may take before it is ended, whatever it was given to read. */
const MAX_HEAP_MB = 512

type Settle = (tokens: number | null) => void

const waiting = new Map<number, Settle>()
let thread: Worker | null = null
let lastId = 0
let idleTimer: NodeJS.Timeout | null = null

/**
 * Has tokens counted in a thread of its own, started at first need. `null` when they cannot be told: an unreadable
 * body, too many estimates under way, a thread that died. Never rejects.
 */
export function estimateInThread(
  counted: string | Buffer,
  model: string | null,
  dialectName: string,
): Promise<number | null> {
  if (waiting.size >= MAX_WAITING) return Promise.resolve(null)
  return new Promise((settle) => {
    lastId++
    waiting.set(lastId, settle)
    const worker = openThread()
    // A copy of just these bytes: a view would take all of the pool behind it along.
    const bytes = typeof counted === 'string' ? null : new Uint8Array(counted)
    const job: EstimateJob = { id: lastId, counted: bytes ?? String(counted), model, dialectName }
    worker.postMessage(job, bytes === null ? [] : [bytes.buffer])
  })
}

function openThread(): Worker {
  if (idleTimer !== null) clearTimeout(idleTimer)
  idleTimer = null
  if (thread !== null) {
    thread.ref()
    return thread
  }
  const worker = new Worker(new URL('./estimate-thread.ts', import.meta.url), {
    name: 'estimates',
    // Not the process's own: some of its options suit its main file only.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  thread = worker
  worker.on('message', ({ id, tokens }: EstimateAnswer) => settle(id, tokens))
  worker.on('error', () => abandon(worker))
  worker.on('exit', () => abandon(worker))
  return worker
}

function settle(id: number, tokens: number | null): void {
  waiting.get(id)?.(tokens)
  waiting.delete(id)
  if (waiting.size > 0) return
  // Only work holds the process.
  thread?.unref()
  idleTimer = setTimeout(endIdleThread, IDLE_MS).unref()
}

function endIdleThread(): void {
  const idle = thread
  thread = null
  void idle?.terminate()
}

function abandon(worker: Worker): void {
  if (thread !== worker) return
  thread = null
  for (const settleWaiting of waiting.values()) settleWaiting(null)
  waiting.clear()
}
