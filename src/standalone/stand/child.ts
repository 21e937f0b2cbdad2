import { setTimeout as delay } from 'node:timers/promises'
import { sendSignal } from '../processes/detached-process.ts'
import { type NodeProcess, startNode } from '../processes/node-process.ts'
import { childrenOf, outliving } from './child-processes.ts'

/** A process of ours that is ended in every way and started again. It ends with the process that started it. */
export interface Child {
  readonly name: string
  readonly running: boolean
  /** How it ended although it was not asked to, with the end of its output; empty: it never did. */
  readonly unbidden: readonly string[]
  /** @throws when it is not running */
  readonly pid: number
  /** It and the processes that it started; none when it is not running. */
  readonly pids: readonly number[]
  /** Starts it where it is not running, and waits until it is of use. */
  start(): Promise<void>
  /**
   * kill -9, and waits until it is gone. The processes that it started are to end by themselves then: one that
   * does not within seconds is a complaint.
   */
  kill(): Promise<void>
  /** Its end is on the way already, and is not a complaint. Resolves with how it ended. */
  expectEnd(): Promise<string>
  /** SIGTERM, and waits until it is gone; SIGKILL after `graceMs`. Tells how it ended. */
  stop(graceMs: number): Promise<string>
  /** SIGSTOP and SIGCONT. */
  freeze(): void
  thaw(): void
  /** The end of its log since its start. */
  lastWords(lines: number): string
}

export interface ChildOptions {
  readonly name: string
  readonly script: string
  readonly args: readonly string[]
  /** Asked at each start. */
  readonly env: () => Readonly<Record<string, string>>
  /** URLs of modules that are loaded first. */
  readonly preloads: readonly string[]
  readonly logFile: string
  /** Tells whether it is of use now. */
  readonly isReady: () => Promise<boolean>
  /** Between two calls of `isReady`; absent: 50. */
  readonly pollMs?: number
}

/** How long a start may take, also with its stores away for a while. */
export const READY_WITHIN_MS = 90_000
/** A process whose primary is gone has nothing to wait for. */
const ORPHANS_END_WITHIN_MS = 5_000

export function childProcess(options: ChildOptions): Child {
  const { name, isReady, pollMs = 50 } = options
  const preloads = options.preloads.map((module) => `--import ${module}`)
  let run: NodeProcess | null = null
  const bidden = new WeakSet<NodeProcess>()
  const unbidden: string[] = []
  const running = () => {
    if (run?.running !== true) throw new Error(`${name} is not running`)
    return run
  }
  const pids = () => (run?.running === true ? [run.pid, ...childrenOf(run.pid)] : [])
  return {
    name,
    get running() {
      return run?.running === true
    },
    unbidden,
    get pid() {
      return running().pid
    },
    get pids() {
      return pids()
    },
    async start() {
      if (run?.running === true) return
      const env = { ...(preloads.length === 0 ? {} : { NODE_OPTIONS: preloads.join(' ') }), ...options.env() }
      const started = await startNode({ ...options, env })
      run = started
      void started.ended.then((how) => {
        if (!bidden.has(started)) unbidden.push(`${name} ended: ${how}\n${started.lastWords(20)}`)
      })
      const until = performance.now() + READY_WITHIN_MS
      while (!(await isReady())) {
        if (!started.running)
          throw new Error(`${name} ended: ${await started.ended}\n${started.lastWords(10)}`)
        if (performance.now() > until) throw new Error(`${name} did not get ready:\n${started.lastWords(10)}`)
        await delay(pollMs)
      }
    },
    async kill() {
      if (run?.running !== true) return
      bidden.add(run)
      const orphans = childrenOf(run.pid)
      sendSignal(run.pid, 'SIGKILL')
      await run.ended
      for (const pid of await outliving(orphans, ORPHANS_END_WITHIN_MS)) {
        unbidden.push(`${name}: its process ${pid} lived on without it`)
        sendSignal(pid, 'SIGKILL')
      }
    },
    async expectEnd() {
      const ending = running()
      bidden.add(ending)
      return await ending.ended
    },
    async stop(graceMs) {
      const stopping = running()
      bidden.add(stopping)
      await stopping.stop(graceMs)
      return await stopping.ended
    },
    freeze: () => sendSignal(running().pid, 'SIGSTOP'),
    thaw: () => sendSignal(running().pid, 'SIGCONT'),
    lastWords: (lines) => run?.lastWords(lines) ?? '',
  }
}
