import { readdirSync, readFileSync } from 'node:fs'
import { afterAll } from 'vitest'
import { sendSignal } from '../../src/standalone/processes/detached-process.ts'

type Stop = () => Promise<void>

/** The ends of what files have started while they were loaded, until they are done. */
const stops = new Set<Stop>()

/**
 * Ends what a file starts before its tests, behind its last one. If no test runs, or the file fails to load, Vitest calls
 * no hook: then it ends before the next file of the process.
 */
export function stopBehindFile(stop: Stop): void {
  const once = async () => {
    if (stops.delete(once)) await stop()
  }
  stops.add(once)
  afterAll(once)
}

/**
 * What this test file starts and does not stop is killed behind it. A test or a hook that timed out never came to its own
 * end, and its programs would go on beside the tests that follow, and after the run.
 */
export async function leaveNothing(): Promise<void> {
  // Of a file before this one in the same process, whose own last hook failed, or was never called.
  for (const stop of [...stops].reverse()) await stop().catch(() => {})
  killLeftovers()
  // Vitest ends its processes by SIGTERM, which by itself calls no listener of `exit`. Files share a process.
  if (!process.listeners('SIGTERM').some(({ name }) => name === endOrderly.name)) {
    process.once('SIGTERM', endOrderly)
    process.once('exit', killLeftovers)
  }
  // Hooks run in reverse order: this one is last.
  afterAll(killLeftovers)
}

/**
 * With what they started in turn. The shells of `stopWithMe` stay: they delete folders once this process is gone. All are
 * found before the first is killed, as the system gives what it started to another parent then.
 */
function killLeftovers(): void {
  for (const pid of descendantsOf(process.pid)) sendSignal(pid, 'SIGKILL')
}

/** While a file runs, Vitest has a function in place of `process.exit` that throws. */
function endOrderly(): void {
  process.emit('exit', 143)
  const { reallyExit } = process as NodeJS.Process & { readonly reallyExit: (code: number) => never }
  reallyExit(143)
}

function descendantsOf(parent: number): number[] {
  const children = threadsOf(parent)
    .flatMap((thread) => read(`/proc/${parent}/task/${thread}/children`).split(' '))
    .filter(Boolean)
    .map(Number)
    .filter((pid) => !isWatch(pid))
  return children.flatMap((pid) => [pid, ...descendantsOf(pid)])
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return [] // no Linux, or it is gone
  }
}

function isWatch(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`).startsWith('/bin/sh\0-c\0\npids=')
}

/** A thread or a process may end at any time: of one that is gone there is nothing. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
