import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { findTestFiles, pathsOf } from './suites.ts'

const units = new Set(pathsOf(findTestFiles(), ({ isUnit }) => isUnit))

/** Minutes of `npm run test:long` each, the slowest first. */
const SLOWEST = [
  'test/usage/axes/many-values.test.ts',
  'test/statements/billing/faults.test.ts',
  'test/standalone/prove/prove.test.ts',
  'test/end-to-end/chaos.test.ts',
  'test/replay/hang-ups.test.ts',
  'test/pricing/price-oracle.test.ts',
  'test/rollup/axes.test.ts',
]

function rankOf(path: string): number {
  const slow = SLOWEST.indexOf(path)
  return slow === -1 ? SLOWEST.length : slow
}

/**
 * What waits long begins first, and files of milliseconds come last, so that no worker has nothing to do while another is
 * busy with a file that began at the end. In a new clone nothing else tells how long a file takes.
 *
 * Files with a process of their own come together: one in between ends the process that the files around it share, and
 * the next has all to load again.
 */
export class InOrder extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = (await super.sort(specifications)).map((specification) => {
      const path = relative('.', specification.moduleId)
      const keys = [rankOf(path), specification.project.config.isolate ? 0 : 1, units.has(path) ? 1 : 0]
      return { specification, keys }
    })
    return sorted
      .sort((one, other) => compare(one.keys, other.keys))
      .map(({ specification }) => specification)
  }
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((key, index) => key !== other[index])
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0)
}
