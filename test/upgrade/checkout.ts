import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { type Child, childProcess } from '../../src/standalone/stand/child.ts'

const run = promisify(execFile)

/** Programs of one state of the project, on the same stores. */
export interface Checkout {
  /** The commit, or `this checkout`. */
  readonly name: string
  tallygate(...args: readonly string[]): Promise<{ code: number; out: string; err: string }>
  /** Its processes say of which release they are. */
  readonly saysItsRelease: boolean
  /** Started, and ready. */
  gateway(port: number): Promise<Child>
  worker(): Promise<Child>
  remove(): Promise<void>
}

/** The commit before the one that brought the newest migration. */
export async function findOlderCommit(): Promise<string> {
  const { stdout } = await run('git', [
    ...['log', '-1', '--diff-filter=A', '--format=%h', '--', 'src/store/migrations'],
  ])
  const { stdout: before } = await run('git', ['rev-parse', '--short', `${stdout.trim()}~1`])
  return before.trim()
}

/**
 * Its packages are those of this checkout: a commit that needs others cannot be tried.
 *
 * @param commit `null`: this checkout as it is.
 */
export async function checkOut(
  commit: string | null,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<Checkout> {
  const root = commit === null ? process.cwd() : join(folder, `at-${commit}`)
  if (commit !== null) {
    await run('git', ['worktree', 'add', '--detach', root, commit])
    await symlink(join(process.cwd(), 'node_modules'), join(root, 'node_modules'))
    // Commits between two releases have one version: it says itself that it is an older one.
    const manifest = join(root, 'package.json')
    const text = await readFile(manifest, 'utf8')
    await writeFile(manifest, text.replace(/"version": "[^"]*"/, `"version": "0.0.0-${commit}"`))
  }
  const name = commit ?? 'this checkout'
  const own = { PATH: process.env.PATH ?? '', NODE_ENV: 'production', ...env }
  const started = async (
    kind: string,
    script: string,
    more: Readonly<Record<string, string>>,
    isReady: () => Promise<boolean>,
  ) => {
    const child = childProcess({
      name: `${kind} of ${name}`,
      script: join(relative(process.cwd(), root), script),
      args: [],
      preloads: [],
      env: () => ({ ...own, ...more }),
      logFile: join(folder, `${kind}-${commit ?? 'next'}.log`),
      isReady,
    })
    await child.start()
    return child
  }
  return {
    name,
    saysItsRelease: existsSync(join(root, 'src/store/migrations/0030_heartbeats.sql')),
    async tallygate(...args) {
      return await run(process.execPath, ['src/cli/main.ts', ...args], { cwd: root, env: own }).then(
        ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
        ({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr }),
      )
    },
    gateway: (port) =>
      started(
        'gateway',
        'src/gateway/server.ts',
        { HOST: '127.0.0.1', PORT: `${port}`, ADMIN_PORT: '0' },
        () =>
          fetch(`http://127.0.0.1:${port}/readyz`).then(
            ({ ok }) => ok,
            () => false,
          ),
      ),
    worker: () => started('worker', 'workers/main.ts', {}, async () => true),
    async remove() {
      if (commit !== null) await run('git', ['worktree', 'remove', '--force', root])
    },
  }
}
