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

/** The shells of `stopWithMe` stay: they delete folders once this process is gone. */
function killLeftovers(): void {
  for (const pid of childrenOf(process.pid)) if (!isWatch(pid)) sendSignal(pid, 'SIGKILL')
}

function endOrderly(): void {
  process.exit()
}

function childrenOf(parent: number): number[] {
  try {
    const threads = readdirSync(`/proc/${parent}/task`)
    const texts = threads.map((thread) => readFileSync(`/proc/${parent}/task/${thread}/children`, 'utf8'))
    return texts.join(' ').split(' ').filter(Boolean).map(Number)
  } catch {
    return [] // no Linux
  }
}

function isWatch(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/bin/sh\0-c\0\npids=')
  } catch {
    return true // gone
  }
}
