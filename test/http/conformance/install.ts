import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { cached, run } from '../../support/cached-install.ts'

const MODULE = 'github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible'

declare module 'vitest' {
  interface ProvidedContext {
    /** The program. */
    readonly h2spec: string
  }
}

/** Builds h2spec; later runs find it. */
export default async function setUp(project: TestProject): Promise<void> {
  const folder = await cached(
    'h2spec',
    MODULE,
    async (into) => {
      await run('go', ['install', MODULE], { env: { ...process.env, GOBIN: into } })
    },
    resolve('node_modules/.cache/h2spec'),
  )
  project.provide('h2spec', join(folder, 'h2spec'))
}
