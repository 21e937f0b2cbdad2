import type { TestProject } from 'vitest/node'
import { cached, run } from '../../support/cached-install.ts'
import { installKafka } from './install.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly kafkaJars: string
    /** A folder of packages, for PYTHONPATH: ClickHouse as a library. */
    readonly chdb: string
  }
}

export default async function setUp(project: TestProject): Promise<void> {
  const [jars, chdb] = await Promise.all([
    installKafka(),
    cached('chdb', 'chdb', async (folder) => {
      await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, 'chdb'])
    }),
  ])
  project.provide('kafkaJars', jars)
  project.provide('chdb', chdb)
}
