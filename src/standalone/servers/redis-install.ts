import { spawn, spawnSync } from 'node:child_process'

/** Shown before it is done: unlike unpacking, it changes the machine. */
export const BREW_COMMAND = 'brew install redis'

export function hasBrew(): boolean {
  return spawnSync('brew', ['--version'], { stdio: 'ignore', timeout: 10_000 }).status === 0
}

/** Runs it to its end. Returns its last line when it failed, else null. */
export async function installWithBrew(): Promise<string | null> {
  const child = spawn('brew', ['install', 'redis'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  const hear = (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-4_000)
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return code === 0 ? null : (said.trimEnd().split('\n').at(-1) ?? `exit code ${code}`)
}
