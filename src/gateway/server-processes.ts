import cluster, { type Worker } from 'node:cluster'
import type { Logger } from '../lib/log.ts'
import { atMostEvery } from '../lib/repeat.ts'
import { collectMetrics } from '../metrics/shared-metrics.ts'

/** A process that ran for as long as this is replaced at once: until then the others take its calls. */
const SETTLED_MS = 5_000
/** One that did not is replaced after this time: what ended it may end the next one, and a start costs CPU. */
const RESTART_MS = 500
const LOG_EVERY_MS = 10_000
const STARTED = 'tallygate:started'

/** Tells the process that started the others that this one accepts calls, and signals. */
export function reportStarted(): void {
  if (cluster.isWorker) process.send?.(STARTED)
}

/** The processes of one `npm run gateway`: this one, or several that share the port. */
export interface GatewayProcesses {
  stop(): Promise<void>
}

/**
 * Starts `count` processes that share one port, each with a producer of its own. One that dies is replaced,
 * and the others adopt its journal.
 */
export function startProcesses(count: number, stopMs: number, log: Logger): GatewayProcesses {
  let stopping = false
  let oneStarted = false
  const started = new WeakSet<Worker>()
  const forkedAtMs = new WeakMap<Worker, number>()
  const gate = atMostEvery(LOG_EVERY_MS)

  function fork(): void {
    try {
      const worker = cluster.fork()
      forkedAtMs.set(worker, performance.now())
      // Without a listener it would end this process, and with it all that take calls.
      worker.on('error', (error) => {
        // The end of one that ran comes as `exit`.
        if (worker.process.pid !== undefined) return
        Reflect.deleteProperty(cluster.workers ?? {}, worker.id)
        notForked(error)
      })
    } catch (error) {
      notForked(error)
    }
  }

  /** The system is out of processes or memory for the moment, or the program was deleted. */
  function notForked(err: unknown): void {
    if (stopping) return
    if (!oneStarted) startFailed({ err })
    if (gate.passes())
      log.error(
        { event: 'gateway.process_not_started', err },
        'the system starts no other gateway process; it is tried again',
      )
    setTimeout(() => {
      if (!stopping) fork()
    }, RESTART_MS)
  }

  /** Whatever keeps the first process from starting would keep every next one from it. */
  function startFailed(why: object): never {
    log.fatal({ event: 'gateway.process_start_failed', ...why }, 'a gateway process could not start')
    process.exit(1)
  }
  /** Processes that have to reload, and were not ready: a signal that comes too early ends a process. */
  const toReload = new WeakSet<Worker>()
  const running = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
  collectMetrics(() => running().filter((worker) => started.has(worker)))
  cluster.on('message', (worker, message: unknown) => {
    if (message !== STARTED) return
    oneStarted = true
    started.add(worker)
    if (toReload.delete(worker)) worker.process.kill('SIGHUP')
  })
  cluster.on('exit', (worker, code, signal) => {
    if (stopping) return
    if (!oneStarted) startFailed({ code, signal })
    log.error(
      { event: 'gateway.process_died', pid: worker.process.pid, code, signal },
      'a gateway process died; another one starts',
    )
    const ranMs = performance.now() - (forkedAtMs.get(worker) ?? 0)
    setTimeout(() => {
      if (!stopping) fork()
    }, restartDelayMs(ranMs))
  })
  for (let i = 0; i < count; i += 1) fork()
  process.on('SIGHUP', () => {
    for (const worker of running()) {
      if (started.has(worker)) worker.process.kill('SIGHUP')
      else toReload.add(worker)
    }
  })
  return {
    async stop() {
      stopping = true
      await Promise.all(running().map((worker) => stopWorker(worker, stopMs)))
    },
  }
}

/** How long to wait before a process that ran for `ranMs` is replaced, in milliseconds. */
export function restartDelayMs(ranMs: number): number {
  return ranMs >= SETTLED_MS ? 0 : RESTART_MS
}

async function stopWorker(worker: Worker, stopMs: number): Promise<void> {
  if (worker.isDead()) return
  const { promise: exited, resolve } = Promise.withResolvers<void>()
  worker.once('exit', () => resolve())
  worker.process.kill('SIGTERM')
  const force = setTimeout(() => worker.process.kill('SIGKILL'), stopMs)
  await exited
  clearTimeout(force)
}
