import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { cached, run } from '../../support/cached-install.ts'

/** Where the client libraries are. */
export interface InstalledClients {
  /** A folder with a node_modules. */
  readonly node: string
  /** A folder of packages, for PYTHONPATH. */
  readonly python: string
}

const NPM_PACKAGES = {
  '@anthropic-ai/sdk': '*',
  '@aws-sdk/client-bedrock-runtime': '*',
  '@google/genai': '*',
  '@smithy/node-http-handler': '*',
}
const PYTHON_PACKAGES = ['anthropic[bedrock]', 'boto3', 'google-genai']

declare module 'vitest' {
  interface ProvidedContext {
    readonly installedClients: InstalledClients
  }
}

/** Installs the newest of each, once a day. */
export default async function setUp(project: TestProject): Promise<void> {
  const day = new Date().toISOString().slice(0, 10)
  const [node, python] = await Promise.all([
    cached('client libraries for Node', JSON.stringify([NPM_PACKAGES, day]), async (folder) => {
      await writeFile(
        join(folder, 'package.json'),
        JSON.stringify({ private: true, dependencies: NPM_PACKAGES }),
      )
      await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
    }),
    cached('client libraries for Python', JSON.stringify([PYTHON_PACKAGES, day]), async (folder) => {
      await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, ...PYTHON_PACKAGES])
    }),
  ])
  project.provide('installedClients', { node, python })
}
