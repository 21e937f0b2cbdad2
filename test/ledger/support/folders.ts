import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** An empty directory that goes with the test. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-ledger-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Names in a directory, sorted. */
export function namesIn(folder: string): string[] {
  return readdirSync(folder).sort()
}
