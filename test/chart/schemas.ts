import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { cached, run } from '../support/cached-install.ts'

/** The API's schemas of ten releases of Kubernetes, and a program that holds manifests against them. */
const VALIDATOR = 'kubernetes-validate==1.37.0'
/** The oldest and the newest that it has. */
const RELEASES = ['1.28', '1.37']

/** @returns the validator's folder, in which pip put it once */
export async function installSchemas(): Promise<string> {
  return await cached('the API’s schemas', VALIDATOR, async (into) => {
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', into, VALIDATOR])
  })
}

/**
 * Holds rendered manifests against the schemas, where a field that they do not have is an error.
 *
 * @returns what is wrong, and with which release
 */
export function againstSchemas(installed: string, files: readonly string[]): readonly string[] {
  const program = join(installed, 'bin', 'kubernetes-validate')
  return RELEASES.flatMap((release) => {
    const args = [program, '--kubernetes-version', release, '--strict', '--quiet', ...files]
    const { status, stdout, stderr } = spawnSync('python3', args, {
      env: { ...process.env, PYTHONPATH: installed },
      encoding: 'utf8',
    })
    return status === 0 ? [] : [`Kubernetes ${release}: ${stdout}${stderr}`]
  })
}
