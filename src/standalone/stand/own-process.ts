import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A program of ours in a process of its own. It ends when its channel to us does. */
export interface OwnProcess {
  readonly child: ChildProcess
  readonly pid: number
  /** The port that it listens at; 0: none. */
  readonly port: number
}

/**
 * Starts it and waits until it says where it listens.
 *
 * @param script From the project's root.
 */
export async function startOwnProcess(
  script: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<OwnProcess> {
  const child = fork(fileURLToPath(new URL(`../../../${script}`, import.meta.url)), args, {
    env: { ...process.env, NODE_ENV: 'production', ...env },
    serialization: 'advanced',
  })
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (said: { readonly port: number }) => resolve(said.port))
    child.once('exit', () => reject(new Error(`${script} ended before it listened`)))
  })
  return { child, pid: child.pid ?? 0, port }
}
