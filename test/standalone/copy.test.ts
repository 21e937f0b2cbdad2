// @long: two whole stacks beside each other
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { until } from '../../src/lib/repeat.ts'
import { sendSignal } from '../../src/standalone/processes/detached-process.ts'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { processIdentity } from '../../src/standalone/processes/process-identity.ts'
import { type NpmStart, npmStart, paste, processesOf } from '../support/npm-start.ts'
import { patienceMs } from '../support/patience.ts'

const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-copy-'))
const [original, copy] = [join(folder, 'original'), join(folder, 'copy')]

afterAll(async () => {
  for (const pid of processesOf(folder)) sendSignal(pid, 'SIGKILL')
  await until(() => (processesOf(folder).length === 0 ? true : null), { timeoutMs: patienceMs() })
  await rm(folder, { recursive: true, force: true })
})

async function startOn(dataDir: string): Promise<NpmStart> {
  const [port, adminPort] = [await findFreePort(), await findFreePort()]
  return npmStart({
    TALLYGATE_DATA_DIR: dataDir,
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    CI: '1',
  })
}

async function partsOf(dataDir: string): Promise<readonly unknown[]> {
  const recorded: { name: string; pid: number }[] = JSON.parse(
    await readFile(join(dataDir, 'processes.json'), 'utf8'),
  )
  return recorded.map(({ name, pid }) => ({ name, pid, identity: processIdentity(pid) }))
}

async function isCounted(usage: string | undefined, requests: number): Promise<boolean> {
  const asked = async () => ((await paste(usage ?? '')).requests === requests ? true : null)
  return (await until(asked, { timeoutMs: patienceMs() })) === true
}

/**
 * Copies a folder at one instant, as a file system's snapshot does. Files that are read one after the other while servers
 * write them may vanish between their listing and their reading, and PostgreSQL may find a page newer than its log.
 */
function copyAtOnce(from: string, to: string): void {
  const writers = processesOf(from)
  for (const pid of writers) sendSignal(pid, 'SIGSTOP')
  try {
    execFileSync('cp', ['-a', from, to])
  } finally {
    for (const pid of writers) sendSignal(pid, 'SIGCONT')
  }
}

test('a copy of a running data folder runs beside it on servers of its own, and both count on', async () => {
  const first = await startOn(original)
  const [call, usage] = await first.screen()
  await paste(call ?? '')
  expect(await isCounted(usage, 1)).toBe(true)
  const before = await partsOf(original)
  expect(before).toHaveLength(5)

  copyAtOnce(original, copy)
  const second = await startOn(copy)
  const [callOfCopy, usageOfCopy] = await second.screen()
  expect(second.output).not.toContain('left behind')
  expect(await partsOf(original)).toEqual(before)
  expect(first.output).not.toContain('starting it again')

  await paste(callOfCopy ?? '')
  expect(await isCounted(usageOfCopy, 2)).toBe(true)
  await paste(call ?? '')
  await paste(call ?? '')
  expect(await isCounted(usage, 3)).toBe(true)

  second.signal('SIGINT')
  await second.exited
  expect(await partsOf(original)).toEqual(before)
  await paste(call ?? '')
  expect(await isCounted(usage, 4)).toBe(true)
  first.signal('SIGINT')
  await first.exited
  expect(processesOf(folder)).toEqual([])
})
