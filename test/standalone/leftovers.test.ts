import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { stopLeftovers } from '../../src/standalone/data-folder/leftovers.ts'
import { processIdentity } from '../../src/standalone/processes/process-identity.ts'

const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-leftovers-'))
const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

async function startSleeper(cwd = '/'): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore', cwd })
  children.push(child)
  await new Promise((resolve) => child.once('spawn', resolve))
  if (child.pid === undefined) throw new Error('sleep did not start')
  return child as ChildProcess & { readonly pid: number }
}

test('what an earlier run recorded and left running is stopped, frozen or not', async () => {
  const file = join(folder, 'left.json')
  const [redis, worker] = [await startSleeper(), await startSleeper()]
  const { registry } = await stopLeftovers(file)
  registry.record('redis', redis.pid)
  registry.record('worker', worker.pid)
  worker.kill('SIGSTOP')
  const { stopped } = await stopLeftovers(file)
  expect(stopped).toEqual(['worker', 'redis']) // who takes calls first, who keeps data last
  expect([processIdentity(redis.pid), processIdentity(worker.pid)]).toEqual([null, null])
})

test('a process that only has the number of one of ours is left alone', async () => {
  const file = join(folder, 'recycled.json')
  const otherProcess = await startSleeper()
  const { registry } = await stopLeftovers(file)
  registry.record('redis', otherProcess.pid)
  const recorded: object[] = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(
    file,
    JSON.stringify(recorded.map((process_) => ({ ...process_, identity: 'an earlier boot 123' }))),
  )
  expect((await stopLeftovers(file)).stopped).toEqual([])
  expect(processIdentity(otherProcess.pid)).not.toBeNull()
})

test('the registry in a copy of the folder stops no process, the one in the original still does', async () => {
  const original = makeFolder('original')
  const redis = await startSleeper()
  const { registry } = await stopLeftovers(join(original, 'processes.json'))
  registry.record('redis', redis.pid)
  const copy = join(folder, 'copy')
  cpSync(original, copy, { recursive: true })
  expect((await stopLeftovers(join(copy, 'processes.json'))).stopped).toEqual([])
  expect(processIdentity(redis.pid)).not.toBeNull()

  // The copy takes the place of the original, which is moved away: the path tells nothing.
  const moved = join(folder, 'moved')
  renameSync(original, moved)
  cpSync(moved, original, { recursive: true })
  expect((await stopLeftovers(join(original, 'processes.json'))).stopped).toEqual([])
  expect(processIdentity(redis.pid)).not.toBeNull()
  expect((await stopLeftovers(join(moved, 'processes.json'))).stopped).toEqual(['redis'])
})

test('a server that was recorded without its folder, as earlier releases did, is stopped where it works', async () => {
  const original = makeFolder('noted-before')
  mkdirSync(join(original, 'redis'))
  const redis = await startSleeper(join(original, 'redis'))
  const recorded = [{ name: 'redis', pid: redis.pid, identity: processIdentity(redis.pid) }]
  writeFileSync(join(original, 'processes.json'), JSON.stringify(recorded))
  const copy = join(folder, 'copy-of-noted-before')
  cpSync(original, copy, { recursive: true })
  expect((await stopLeftovers(join(copy, 'processes.json'))).stopped).toEqual([])
  expect((await stopLeftovers(join(original, 'processes.json'))).stopped).toEqual(['redis'])
})

function makeFolder(name: string): string {
  mkdirSync(join(folder, name))
  return join(folder, name)
}

test.each([
  '',
  'null',
  '[{"name":"redis","pid":1,"identity":"x"}]',
  '{"pid":7}',
  '[{"name":"redis","pid":7,"identity":"x","folder":null}]',
])('a damaged registry (%j) stops no process', async (text) => {
  const file = join(folder, 'damaged.json')
  writeFileSync(file, text)
  expect((await stopLeftovers(file)).stopped).toEqual([])
})

test('a service started again is recorded in the place of the one before', async () => {
  const file = join(folder, 'again.json')
  const { registry } = await stopLeftovers(file)
  registry.record('gateway', process.ppid)
  registry.record('gateway', process.pid)
  const recorded: { pid: number }[] = JSON.parse(readFileSync(file, 'utf8'))
  expect(recorded.map(({ pid }) => pid)).toEqual([process.pid])
})
