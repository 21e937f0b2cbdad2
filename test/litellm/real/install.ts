import type { TestProject } from 'vitest/node'
import { cached, run } from '../../support/cached-install.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder of Python packages with LiteLLM, for PYTHONPATH. */
    readonly installedLiteLlm: string
  }
}

const PACKAGES = ['litellm[proxy]']

/** Installs the newest LiteLLM with its proxy, once a day. */
export default async function setUp(project: TestProject): Promise<void> {
  const day = new Date().toISOString().slice(0, 10)
  const folder = await cached('LiteLLM', JSON.stringify([PACKAGES, day]), async (into) => {
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', into, ...PACKAGES])
  })
  project.provide('installedLiteLlm', folder)
}
