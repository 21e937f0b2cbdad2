import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startStack, type TestStack } from '../support/servers/stack.ts'

let stack: TestStack
let folder: string

beforeAll(async () => {
  stack = await startStack('http://127.0.0.1:1')
  folder = mkdtempSync(join(tmpdir(), 'tallygate-test-dev-'))
})

afterAll(async () => {
  await stack?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('npm run dev runs the gateway on the servers of the environment, and ends with it', async () => {
  const own = { JOURNAL_DIR: folder, PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'info' }
  const env = { ...process.env, ...stack.env, ...own }
  const dev = spawn(process.execPath, ['scripts/dev.ts'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // a group of its own, so that a test that fails leaves no process behind
  })
  onTestFinished(() => {
    if (dev.pid !== undefined && dev.exitCode === null) process.kill(-dev.pid, 'SIGKILL')
  })
  const closed = once(dev, 'close')
  const lines = createInterface({ input: dev.stdout })
  for await (const line of lines) if (line.includes('gateway.started')) break
  dev.stdout.resume()
  dev.kill('SIGTERM')
  await closed
  expect(dev.exitCode).not.toBe(null)
})

test('npm run dev without servers says how to get some', async () => {
  const env = { PATH: process.env.PATH, TALLYGATE_DATA_DIR: folder }
  const dev = promisify(execFile)(process.execPath, ['scripts/dev.ts'], { env })
  await expect(dev).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Run npm start in another terminal, or set DATABASE_URL'),
  })
})
