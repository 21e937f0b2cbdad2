import { resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { cached, run } from '../../support/cached-install.ts'
import { ROWS } from './matrix/rows.ts'
import { packagesOf, SETS, type SetName, versionsIn } from './sets.ts'

/** A set of clients: where it is and what it has, or why it cannot be had. */
export type Installed =
  | { readonly folder: string; readonly versions: string }
  | {
      readonly missing: string
      /** The machine has not the program that builds or runs the set. */
      readonly isToolchain: boolean
    }

/** Where the client libraries are. */
export interface InstalledClients {
  /** A folder with a node_modules. */
  readonly node: string
  /** A folder of packages, for PYTHONPATH. */
  readonly python: string
  /** Those that were asked for. */
  readonly sets: Readonly<Partial<Record<SetName, Installed>>>
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly installedClients: InstalledClients
  }
}

/** They are hundreds of megabytes: more than a temporary folder in memory should have. */
const CACHE = resolve('node_modules/.cache/clients')

/** Installs the newest of each, once a day, and prints their versions. */
export default async function setUp(project: TestProject): Promise<void> {
  const wanted = new Set<SetName>([
    'node',
    'python',
    'openai-agents',
    'cost-tools',
    ...ROWS.map(({ set }) => set),
  ])
  const names = (Object.keys(SETS) as SetName[]).filter((name) => wanted.has(name))
  const found = new Map<SetName, Installed>()
  // Each of them loads both cores.
  for (const name of names) {
    const installed = await install(name)
    found.set(name, installed)
    const text = 'missing' in installed ? `NOT RUN: ${installed.missing}` : installed.versions
    process.stdout.write(`clients: ${name}: ${text}\n`)
  }
  const sets: Partial<Record<SetName, Installed>> = Object.fromEntries(found)
  project.provide('installedClients', { node: needed(sets.node), python: needed(sets.python), sets })
}

export async function install(name: SetName): Promise<Installed> {
  const set = SETS[name]
  for (const [program, ...args] of set.toolchain) {
    const answers = await run(program, args).then(
      () => true,
      () => false,
    )
    if (!answers) return { missing: `this machine has no ${program}`, isToolchain: true }
  }
  const day = new Date().toISOString().slice(0, 10)
  try {
    const folder = await cached(
      `The set ${name}`,
      JSON.stringify([await packagesOf(name), day]),
      set.install,
      CACHE,
    )
    return { folder, versions: await versionsIn(name, folder) }
  } catch (error) {
    return { missing: error instanceof Error ? error.message : `${error}`, isToolchain: false }
  }
}

function needed(installed: Installed | undefined): string {
  if (installed === undefined || 'missing' in installed) throw new Error(installed?.missing)
  return installed.folder
}
