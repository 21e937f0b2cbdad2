import type { TestProject } from 'vitest/node'
import { type InstalledRouters, installRouters } from './install.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly installedRouters: InstalledRouters
  }
}

export default async function setUp(project: TestProject): Promise<void> {
  project.provide('installedRouters', await installRouters())
}
