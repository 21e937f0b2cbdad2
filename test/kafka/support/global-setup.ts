import type { TestProject } from 'vitest/node'
import { installKafka } from './install.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly kafkaJars: string
  }
}

export default async function setUp(project: TestProject): Promise<void> {
  project.provide('kafkaJars', await installKafka())
}
