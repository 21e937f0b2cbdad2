import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { findTestFiles } from './suites.ts'

const units = new Set(findTestFiles().flatMap(({ path, isUnit }) => (isUnit ? [path] : [])))

/**
 * The files of milliseconds come last, so that no worker has nothing to do while another waits through a file that began at
 * the end: some wait for half a minute, and in a new clone nothing tells which.
 */
export class UnitsLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isUnit = ({ moduleId }: TestSpecification) => units.has(relative('.', moduleId))
    return [...sorted.filter((file) => !isUnit(file)), ...sorted.filter(isUnit)]
  }
}
