// @long: a gateway that is killed, and journals that are adopted from where they were put
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { readJournalDirectory } from '../../../src/ledger/recovery/producer-folder.ts'
import { createLog } from '../../../src/lib/log.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { startWorkers, type Workers } from '../../../workers/workers.ts'
import { run } from '../../cli/command-line.ts'
import { gatewayProcess, type TestProcess } from '../../support/processes.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let gone: TestProcess
let workers: Workers | null = null
let folder: string

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url, { workers: false })
  client = await stack.addClient('steady')
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-gone-'))
})
afterAll(async () => {
  await gone?.stop()
  await workers?.close()
  await stack?.stop()
  await upstream?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

test('the folder of a host that is gone is counted from where it was put, each record once', async () => {
  const port = await findFreePort()
  gone = gatewayProcess('gateway', port, { ...stack.env, JOURNAL_DIR: join(folder, 'journal') })
  await gone.start()
  for (const content of ['one', 'two', 'three'])
    expect(
      (
        await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content }] }),
        }).then(async (answer) => ({ status: answer.status, text: await answer.text() }))
      ).status,
    ).toBe(200)
  gone.signal('SIGKILL')
  await gone.stop()
  const moved = join(folder, 'moved')
  await cp(join(folder, 'journal'), moved, { recursive: true })
  const drain = (timeout: string) =>
    run(stack.env, 'journal', 'drain', '--folder', moved, '--timeout', timeout)
  expect(await drain('1s')).toMatchObject({
    code: 1,
    out: expect.stringMatching(/journals are left: no worker counts them: start one\.\n$/),
  })
  workers = startWorkers({ ...loadGatewayConfig(stack.env), log: createLog('silent', 'test') })
  const both = await Promise.all([drain('60s'), drain('60s')])
  const [refused, drained] = both.toSorted((a, b) => b.code - a.code)
  expect(drained).toMatchObject({ code: 0, out: 'Nothing is left: all is counted.\n' })
  expect(refused?.err).toContain('another tallygate journal drain works on')
  expect(readJournalDirectory(moved).producers).toEqual([])
  expect((await stack.usageOf(client, 3)).requests).toBe(3)
  expect((await drain('60s')).code).toBe(0)
  expect((await run(stack.env, 'journal', 'drain', '--folder', join(folder, 'nowhere'))).err).toContain(
    'nowhere is not there',
  )
})
