import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { cached, run } from '../support/cached-install.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder of Python packages with the validator, for PYTHONPATH. */
    readonly installedFocusValidator: string
  }
}

/** The validator with the rules of 1.2; those of later versions it would fetch. Newer Arrows refuse its NumPy. */
const PACKAGES = ['focus-validator==2.2.1', 'pyarrow==19.0.1']

/** One expression in it is for Python 3.12 alone; the same for older ones. */
const CHECKS = 'focus_validator/config_objects/focus_to_duckdb_converter.py'
const OF_3_12 = `f"'{k.replace('\\"', '\\"\\"')}'"`
const OF_ANY = `"'" + k.replace('"', '""') + "'"`

/** Installs the validator of the FinOps Foundation. It asks for Python 3.12; this one runs on 3.11 too. */
export default async function setUp(project: TestProject): Promise<void> {
  const folder = await cached('the FOCUS validator', JSON.stringify(PACKAGES), async (into) => {
    const how = ['--quiet', '--ignore-requires-python', '--target', into]
    await run('python3', ['-m', 'pip', 'install', ...how, ...PACKAGES])
    const checks = join(into, CHECKS)
    const text = await readFile(checks, 'utf8')
    await writeFile(
      checks,
      text.replace(OF_3_12, () => OF_ANY),
    )
  })
  project.provide('installedFocusValidator', folder)
}
