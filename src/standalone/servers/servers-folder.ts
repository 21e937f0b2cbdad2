import { mkdirSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the programs: of the checkout, or of the package. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * Where programs of servers are kept that came neither with the system nor with `npm install`. In a checkout it is in
 * `node_modules`, and goes with it. An installed package may lie where its user cannot write, and `npx` has another for
 * each version: there it is the user's own folder for such files.
 *
 * @param root of the checkout or the package, with or without a separator at its end
 */
export function serversFolder(
  root: string,
  env: NodeJS.ProcessEnv,
  home: string,
  platform: NodeJS.Platform,
): string {
  if (!isPackage(root)) return join(root, 'node_modules', '.cache', 'tallygate')
  if (platform === 'darwin') return join(home, 'Library', 'Caches', 'tallygate')
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'tallygate')
  return join(env.XDG_CACHE_HOME || join(home, '.cache'), 'tallygate')
}

/** An installed package is in a folder `node_modules`. */
function isPackage(root: string): boolean {
  return dirname(join(root, 'package.json')).split(sep).includes('node_modules')
}

export const SERVERS_FOLDER = serversFolder(ROOT, process.env, homedir(), process.platform)

/** What the package says of servers; a checkout has none. */
export const SERVER_PACKAGES = join(ROOT, 'servers')

/** Makes the folder that others are put into; closed to others where it is new. */
export function makeServersFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
}

/** Two may fetch at once: the one who comes second finds what the first put there, which is the same. */
export function putInPlace(tree: string, folder: string): void {
  try {
    renameSync(tree, folder)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
  }
}
