import { type ChildProcess, fork } from 'node:child_process'

/** A program of the bench in a process of its own. It ends when its channel to us does. */
export interface OwnProcess {
  readonly child: ChildProcess
  readonly pid: number
  /** Where it listens; 0: nowhere. */
  readonly port: number
}

/** What is undone at the end, the last first. */
export type CleanUp = (() => Promise<unknown> | unknown)[]

const STOP_GRACE_MS = 20_000

/** Starts it and waits until it says where it listens. */
export async function startOwnProcess(
  script: string,
  env: Readonly<Record<string, string>>,
  cleanUp: CleanUp,
): Promise<OwnProcess> {
  const child = fork(script, {
    env: { ...process.env, NODE_ENV: 'production', ...env },
    serialization: 'advanced',
  })
  cleanUp.push(() => stopChild(child))
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (said: { readonly port: number }) => resolve(said.port))
    child.once('exit', () => reject(new Error(`${script} ended before it listened`)))
  })
  return { child, pid: child.pid ?? 0, port }
}

/** SIGTERM, and SIGKILL for one that does not end by that. */
export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS)
  await exited
  clearTimeout(force)
}
