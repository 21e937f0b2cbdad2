import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Runs a program to its end. */
export const run = promisify(execFile)

/**
 * The folder that `install` filled, in this run or an earlier one; a half filled one never stands under the name. It is
 * named by `content`, in the system's temporary folder or in `within`.
 */
export async function cached(
  name: string,
  content: string,
  install: (folder: string) => Promise<void>,
  within = join(tmpdir(), 'tallygate-test-installs'),
): Promise<string> {
  const hash = createHash('sha256')
    .update([name, content, process.platform, process.arch].join('\0'))
    .digest('hex')
  const folder = join(within, hash.slice(0, 16))
  if (existsSync(folder)) return folder
  await mkdir(join(folder, '..'), { recursive: true })
  const being = await mkdtemp(`${folder}-`)
  try {
    await install(being)
    await rename(being, folder)
  } catch (error) {
    await rm(being, { recursive: true, force: true })
    if (!existsSync(folder)) throw cannotBeHad(name, error)
  }
  return folder
}

/** One line that says what cannot be had and why. */
export function cannotBeHad(name: string, error: unknown): Error {
  const text =
    error instanceof Error ? ((error as { stderr?: string }).stderr ?? '') || error.message : `${error}`
  const [reason = ''] = text.trim().split('\n').slice(-1)
  return new Error(`${name} cannot be had: ${reason}`)
}
