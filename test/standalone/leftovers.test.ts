import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { stopLeftovers } from '../../src/standalone/leftovers.ts'
import { processIdentity } from '../../src/standalone/process-identity.ts'

const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-leftovers-'))
const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

async function startSleeper(): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
  children.push(child)
  await new Promise((resolve) => child.once('spawn', resolve))
  if (child.pid === undefined) throw new Error('sleep did not start')
  return child as ChildProcess & { readonly pid: number }
}

test('what a run before noted and left running is stopped, frozen or not', async () => {
  const file = join(folder, 'left.json')
  const [redis, worker] = [await startSleeper(), await startSleeper()]
  const { notes } = await stopLeftovers(file)
  notes.note('redis', redis.pid)
  notes.note('worker', worker.pid)
  worker.kill('SIGSTOP')
  const { stopped } = await stopLeftovers(file)
  expect(stopped).toEqual(['worker', 'redis']) // who takes calls first, who keeps data last
  expect([processIdentity(redis.pid), processIdentity(worker.pid)]).toEqual([null, null])
})

test('a process that only has the number of one of ours is left alone', async () => {
  const file = join(folder, 'recycled.json')
  const stranger = await startSleeper()
  writeFileSync(file, JSON.stringify([{ name: 'redis', pid: stranger.pid, identity: 'an earlier boot 123' }]))
  expect((await stopLeftovers(file)).stopped).toEqual([])
  expect(processIdentity(stranger.pid)).not.toBeNull()
})

test.each([
  '',
  'null',
  '[{"name":"redis","pid":1,"identity":"x"}]',
  '{"pid":7}',
])('damaged notes (%j) stop nobody', async (text) => {
  const file = join(folder, 'damaged.json')
  writeFileSync(file, text)
  expect((await stopLeftovers(file)).stopped).toEqual([])
})

test('a part started again is noted in the place of the one before', async () => {
  const file = join(folder, 'again.json')
  const { notes } = await stopLeftovers(file)
  notes.note('gateway', process.ppid)
  notes.note('gateway', process.pid)
  const noted: { pid: number }[] = JSON.parse(readFileSync(file, 'utf8'))
  expect(noted.map(({ pid }) => pid)).toEqual([process.pid])
})
