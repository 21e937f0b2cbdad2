import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clockEnvironment } from '../clock/clock.ts'
import { OFFLINE } from './offline.ts'

/** What a program had loaded when it ended. */
export interface LoadedModules {
  /** Names of packages. */
  readonly packages: ReadonlySet<string>
  /** URLs of files of ours. */
  readonly files: readonly string[]
}

/** Runs a program until `until` resolves, or where that is absent to its end. */
export async function loadedModules(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  until?: () => Promise<void>,
): Promise<LoadedModules> {
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-loaded-'))
  const file = join(folder, 'loaded.json')
  try {
    const child = fork(program, args, {
      execArgv: ['--import', './test/support/record-loaded.ts'],
      env: { PATH: process.env.PATH, ...clockEnvironment(), ...OFFLINE, ...env, LOADED_FILE: file },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const ended = once(child, 'exit')
    await until?.()
    if (until !== undefined) child.disconnect()
    await ended
    const urls: readonly string[] = JSON.parse(readFileSync(file, 'utf8'))
    return {
      packages: new Set(urls.flatMap((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? [])),
      files: urls.filter((url) => !url.includes('/node_modules/')),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
