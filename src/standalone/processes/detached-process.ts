import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { until } from '../../lib/repeat.ts'

/** A program to run, and as whom. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  /** Numeric user and group to run as; absent: ours. */
  readonly account?: { readonly uid: number; readonly gid: number }
  /** Absent: the bare one. Our `PGPORT`, `LC_ALL` or `LD_LIBRARY_PATH` must not influence a server. */
  readonly env?: NodeJS.ProcessEnv
}

export interface DetachedOptions {
  readonly cwd: string
  /** Appended to; its folder exists. */
  readonly logFile: string
  /** Opens a channel whose end tells the process that we are gone. For our own Node processes only. */
  readonly withChannel?: boolean
}

/** The PATH, English and UTC. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH ?? '', LANG: 'C', TZ: 'UTC' }
}

/** A process in a session of its own, so that a Ctrl-C in our terminal does not reach it. */
export interface DetachedProcess {
  readonly pid: number
  /** Resolves once it is gone, with how it ended: `exit code 1`, `SIGKILL`. */
  readonly ended: Promise<string>
  readonly running: boolean
  /** The end of its log since the start, at most `lines` lines. */
  lastWords(lines?: number): string
  /** Stops it from keeping this process alive. */
  release(): void
}

/** A larger log is truncated at the start: a private process's log is only read when something fails. */
const LOG_MAX_BYTES = 8 * 1024 * 1024

/**
 * Starts a process detached from our terminal and process group.
 *
 * @throws when the program cannot be executed
 */
export async function startDetached(command: Command, options: DetachedOptions): Promise<DetachedProcess> {
  const log = openSync(options.logFile, 'a', 0o600)
  let logStart = statSync(options.logFile).size
  if (logStart > LOG_MAX_BYTES) {
    truncateSync(options.logFile)
    logStart = 0
  }
  const child = spawn(command.file, command.args, {
    cwd: options.cwd,
    env: command.env ?? bareEnvironment(),
    stdio: ['ignore', log, log, ...(options.withChannel ? (['ipc'] as const) : [])],
    detached: true,
    ...command.account,
  })
  closeSync(log)
  let running = true
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      running = false
      resolve(signal ?? `exit code ${code}`)
    })
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  child.on('error', () => {}) // the channel's, when the process is gone: `ended` tells
  const { pid } = child
  if (pid === undefined) throw new Error(`${command.file} did not start`)
  return {
    pid,
    ended,
    get running() {
      return running
    },
    lastWords(lines = 5) {
      const written = readFileSync(options.logFile).subarray(logStart).toString('utf8')
      return written.trimEnd().split('\n').slice(-lines).join('\n')
    },
    release() {
      child.unref()
    },
  }
}

/** One step of stopping a process: the signal, and how long it may take. */
export interface StopStep {
  readonly signal: NodeJS.Signals
  readonly graceMs: number
}

/** Sends the signals in turn, each after its predecessor's time, then SIGKILL. */
export async function stopDetached(target: DetachedProcess, steps: readonly StopStep[]): Promise<void> {
  for (const { signal, graceMs } of [...steps, { signal: 'SIGKILL', graceMs: 5_000 } as const]) {
    if (!target.running) return
    sendSignal(target.pid, signal)
    await until(() => (target.running ? null : true), { timeoutMs: graceMs, everyMs: 10 })
  }
}

/** Signals a process; one that is gone already is fine. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
