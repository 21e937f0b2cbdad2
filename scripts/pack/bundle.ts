import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LockedPackages } from './lockfile.ts'

/** What no program reads: types, maps and texts about them. Licenses stay. */
const UNREAD = /\.(?:map|[cm]?ts|tsbuildinfo|flow|md|markdown)$/i

/** Packages of which we take a part, by the beginnings of the names in it. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  // Of each encoding it has a table in five forms. Estimates read the last two of these, the demo upstream the others.
  'gpt-tokenizer': [
    'package.json',
    'LICENSE',
    'esm',
    'data/o200k_base.tiktoken',
    'data/cl100k_base.tiktoken',
  ],
}
const ENCODING = /gpt-tokenizer\/esm\/(?:bpeRanks|encoding|model)\/(?!o200k_base)/

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
      filter: (path) => isWanted(name, path.slice(folder.length + 1), path),
    })
  }
}

/** Tells whether a file or folder is copied, by its name in its package. */
function isWanted(name: string, inside: string, path: string): boolean {
  if (inside === '') return true
  if (/(?:^|\/)node_modules(?:\/|$)/.test(inside) || (UNREAD.test(inside) && !/licen[cs]e/i.test(inside)))
    return false
  const parts = PARTS[name]
  if (parts === undefined) return true
  if (ENCODING.test(path)) return false
  return parts.some((part) => inside.startsWith(part) || part.startsWith(`${inside}/`))
}
