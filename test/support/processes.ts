import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { COMPILED_FOLDER } from '../../src/lib/compile-cache.ts'
import { clockEnvironment } from '../clock/clock.ts'
import { OFFLINE } from './offline.ts'
import { patienceMs } from './patience.ts'

/** A process of ours that a test kills and starts again. */
export interface TestProcess {
  readonly name: string
  /** Of the run under way. */
  readonly pid: number
  /** How it ended, with a signal's name or its exit code; `null`: it runs, or was never started. */
  readonly ended: string | null
  start(): Promise<void>
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** Of one with `shift-clock.mjs` and TEST_CLOCK_MOVES: its clock is so far from the machine's once this resolves. */
  moveClock(offsetMs: number): Promise<void>
  /** SIGTERM; resolves with how it ended. */
  stop(): Promise<string>
}

/** A program of ours as a child process; `ready` is awaited at every start. */
export function testProcess(
  name: string,
  script: string,
  env: Readonly<Record<string, string>>,
  ready: () => Promise<void>,
): TestProcess {
  let child: ChildProcess | null = null
  let gone: Promise<string> = Promise.resolve('never started')
  return {
    name,
    get pid() {
      if (child?.pid === undefined) throw new Error(`${name} does not run`)
      return child.pid
    },
    get ended() {
      return child === null ? null : (child.signalCode ?? child.exitCode?.toString() ?? null)
    },
    async start() {
      const started = fork(script, {
        // Without the options of the tests' own process. Those of `npm run gateway`, for memory, are not given either.
        execArgv: [],
        env: {
          PATH: process.env.PATH,
          NODE_COMPILE_CACHE: COMPILED_FOLDER,
          ...clockEnvironment(),
          ...OFFLINE,
          ...env,
        },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      child = started
      gone = new Promise((resolve) => started.once('exit', (code, signal) => resolve(signal ?? `${code}`)))
      await Promise.race([ready(), gone.then((how) => Promise.reject(new Error(`${name} ended: ${how}`)))])
    },
    async kill() {
      child?.kill('SIGKILL')
      await gone
    },
    signal(signal) {
      child?.kill(signal)
    },
    async moveClock(offsetMs) {
      if (child === null) throw new Error(`${name} does not run`)
      child.send({ clockOffsetMs: offsetMs })
      await once(child, 'message')
    },
    async stop() {
      child?.kill('SIGTERM')
      return await gone
    },
  }
}

/** A gateway process on a port of its own. */
export function gatewayProcess(
  name: string,
  port: number,
  env: Readonly<Record<string, string>>,
): TestProcess {
  return testProcess(
    name,
    'src/gateway/server.ts',
    { ...env, HOST: '127.0.0.1', PORT: `${port}`, ADMIN_PORT: '0' },
    () => untilReady(port),
  )
}

export function workerProcess(name: string, env: Readonly<Record<string, string>>): TestProcess {
  return testProcess(name, 'workers/main.ts', env, async () => {})
}

/** Resolves when a gateway on `port` takes calls. */
export async function untilReady(port: number): Promise<void> {
  const until = performance.now() + patienceMs()
  while (performance.now() < until) {
    const ok = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (ok) return
    await delay(50)
  }
  throw new Error(`nothing got ready on port ${port}`)
}
