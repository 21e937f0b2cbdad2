import type { TestProject } from 'vitest/node'
import { cached, run } from '../../support/cached-install.ts'

/** Another release may look for other mistakes, so this one is named. */
const SCHEMATHESIS = 'schemathesis==4.32.5'

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder of Python packages, for PYTHONPATH. */
    readonly schemathesis: string
  }
}

/** Installs it once, in a folder of its own. */
export default async function setUp(project: TestProject): Promise<void> {
  const folder = await cached('schemathesis', SCHEMATHESIS, async (target) => {
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', target, SCHEMATHESIS])
  })
  project.provide('schemathesis', folder)
}
