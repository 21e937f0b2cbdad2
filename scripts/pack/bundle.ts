import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LockedPackages } from './lockfile.ts'
import { isUnread } from './unread.ts'

/**
 * Copies what is installed here, so that who installs the package has each package as it is locked. npm takes no notice
 * of the lockfile in a package, unless it has the package from a registry.
 *
 * A package for one kind of machine is left out: JavaScript does its work.
 *
 * @throws Error when another version is installed here than is locked
 */
export function copyBundle(packages: LockedPackages, to: string): void {
  for (const [folder, { version, os }] of Object.entries(packages)) {
    if (folder === '' || os !== undefined) continue
    const installed = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version
    if (installed !== version)
      throw new Error(`${folder} is ${installed}, and locked is ${version}: run npm ci first`)
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
    cpSync(folder, join(to, folder), {
      recursive: true,
      filter: (path) => isWanted(name, path.slice(folder.length + 1)),
    })
  }
}

/** Tells whether a file or folder is copied, by its name in its package. */
function isWanted(name: string, inside: string): boolean {
  return !/(?:^|\/)node_modules(?:\/|$)/.test(inside) && !isUnread(name, inside)
}
