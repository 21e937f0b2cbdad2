import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { sha256Of } from './lists.ts'

/** A package as it was published, unpacked. */
export interface Archive {
  readonly name: string
  readonly version: string
  /** Of the file that the registry gave. */
  readonly sha256: string
  readonly folder: string
}

const packed = z.tuple([z.object({ filename: z.string(), version: z.string() })])

/** @param version As the registry calls it; left out: the newest. */
export function getNpmPackage(folder: string, name: string, version = newestOnNpm(name)): Archive {
  const output = run('npm', ['pack', `${name}@${version}`, '--json', '--pack-destination', folder])
  const [found] = packed.parse(JSON.parse(output))
  const file = join(folder, found.filename)
  const unpacked = makeFolder(folder, found.filename)
  run('tar', ['xzf', file, '-C', unpacked])
  return {
    name,
    version: found.version,
    sha256: sha256Of(readFileSync(file)),
    folder: join(unpacked, 'package'),
  }
}

/** Not what `latest` names for the Node that runs this. */
function newestOnNpm(name: string): string {
  return run('npm', ['view', name, 'version']).trim()
}

/** A wheel, for whatever machine: only data is read from it. */
export function getWheel(folder: string, name: string, version: string | null = null): Archive {
  const into = makeFolder(folder, name)
  const anywhere = ['--only-binary=:all:', '--platform', 'manylinux_2_28_x86_64', '--python-version', '3.12']
  const wanted = version === null ? name : `${name}==${version}`
  run('pip', ['download', '--quiet', '--no-deps', ...anywhere, '--dest', into, wanted])
  const [wheel = ''] = readdirSync(into).filter((file) => file.endsWith('.whl'))
  const unpacked = makeFolder(into, 'unpacked')
  run('python3', ['-m', 'zipfile', '-e', join(into, wheel), unpacked])
  const [, found = ''] = wheel.split('-')
  return { name, version: found, sha256: sha256Of(readFileSync(join(into, wheel))), folder: unpacked }
}

function makeFolder(folder: string, name: string): string {
  const made = join(folder, `${name.replace(/[^a-z0-9.-]/gi, '-')}.d`)
  mkdirSync(made, { recursive: true })
  return made
}

export function run(program: string, options: readonly string[]): string {
  return execFileSync(program, options, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}
