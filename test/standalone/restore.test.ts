// @long: three whole starts, and a backup between them
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test, vi } from 'vitest'
import { until } from '../../src/lib/repeat.ts'
import { sendSignal } from '../../src/standalone/processes/detached-process.ts'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { npmStart, paste, processesOf } from '../support/npm-start.ts'
import { patienceMs } from '../support/patience.ts'

vi.setConfig({ testTimeout: 300_000 })

const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-restored-'))
const dataDir = join(folder, 'data')
const file = join(folder, 'tallygate.backup')
const [port, adminPort] = [await findFreePort(), await findFreePort()]
const env = { TALLYGATE_DATA_DIR: dataDir, PORT: String(port), ADMIN_PORT: String(adminPort), CI: '1' }

afterAll(async () => {
  for (const pid of processesOf(dataDir)) sendSignal(pid, 'SIGKILL')
  await until(() => (processesOf(dataDir).length === 0 ? true : null), { timeoutMs: patienceMs() })
  await rm(folder, { recursive: true, force: true })
})

/** The commands of the documentation behind this line, without what is said about them. */
async function documented(behind: string): Promise<readonly string[]> {
  const page = await readFile('docs/operations.md', 'utf8')
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(page.slice(page.indexOf(behind))) ?? []
  return block
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\s*#.*$/, '').replace('tallygate.backup', file))
}

async function tallygate(args: string): Promise<string> {
  const { PATH = '', HOME = '' } = process.env
  const { stdout } = await promisify(execFile)('bash', ['-c', `npm run -s tallygate -- ${args}`], {
    env: { PATH, HOME, ...env },
  })
  return stdout
}

test('npm start is destroyed, and restored by the commands of the documentation', async () => {
  const first = npmStart(env)
  const [call = '', usage = ''] = await first.screen()
  await paste(call)
  await expect.poll(async () => (await paste(usage.replace('days=1', 'days=2'))).requests).toBe(1)
  const before = await paste(usage.replace('days=1', 'days=2'))
  const [backup = ''] = await documented('Run this every night:')
  expect(backup).toBe(`tallygate backup ${file}`)
  await tallygate(backup.replace(/^tallygate /, ''))
  const pepper = (await tallygate('secrets show KEY_PEPPER')).trim()
  first.signal('SIGINT')
  await first.exited
  await rm(dataDir, { recursive: true })

  const commands = await documented('`npm start -- --stores` starts these alone.')
  expect(commands).toEqual(['npm start -- --stores', `npm run -s tallygate -- restore ${file}`, 'npm start'])
  // Nothing listens for calls, so the ports are not asked for.
  const other = createServer().listen(port, '127.0.0.1')
  await once(other, 'listening')
  const stores = npmStart({ ...env, KEY_PEPPER: pepper }, ['--stores'])
  await stores.said(/PostgreSQL and Redis run, and nothing else/)
  other.close()
  expect(await tallygate(`restore ${file}`)).toMatch(/^Restored \d+ rows/)
  stores.signal('SIGINT')
  await stores.exited
  const again = npmStart(env)
  await again.said(/^stop\s+Ctrl-C$/m)
  expect(await paste(usage.replace('days=1', 'days=2'))).toEqual(before)
  await tallygate('ledger verify')
  expect((await tallygate('secrets show KEY_PEPPER')).trim()).toBe(pepper)
  again.signal('SIGINT')
  await again.exited
})
