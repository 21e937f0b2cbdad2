import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { clockEnvironment } from '../../clock/clock.ts'
import { OFFLINE } from '../../support/offline.ts'
import { untilReady } from '../../support/processes.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

const CALLS = 3

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let journalDir: string
let port: number
const children: ChildProcess[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  client = await stack.addClient('adopted')
  journalDir = mkdtempSync(join(tmpdir(), 'tallygate-test-adoption-'))
  port = await findFreePort()
})

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await stack?.stop()
  await upstream?.close()
  rmSync(journalDir, { recursive: true, force: true })
})

/** A gateway on the journals of the one before, and the events that it logs. */
function startGateway(): { readonly child: ChildProcess; readonly events: readonly string[] } {
  const child = spawn(process.execPath, ['src/gateway/server.ts'], {
    env: {
      PATH: process.env.PATH,
      ...clockEnvironment(),
      ...OFFLINE,
      ...stack.env,
      PORT: `${port}`,
      JOURNAL_DIR: journalDir,
      LOG_LEVEL: 'info',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const events: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => events.push(`${JSON.parse(line).event}`))
  return { child, events }
}

test('a gateway takes calls before it has adopted what the one before left behind', async () => {
  // Not of the pool, whose transactions end once nothing was asked for 10 s.
  const holder = new Client({ connectionString: stack.env.DATABASE_URL })
  await holder.connect()
  try {
    const first = startGateway()
    await untilReady(port)
    // Nothing can be counted now, and no committed offset be read.
    await holder.query('begin; lock table tallygate.producers in access exclusive mode')
    for (let call = 0; call < CALLS; call += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
      })
      expect(answer.status).toBe(200)
      await answer.text()
    }
    const died = once(first.child, 'exit')
    first.child.kill('SIGKILL')
    await died

    const second = startGateway()
    await untilReady(port)
    expect(second.events).not.toContain('adoption.done')
    await holder.query('commit')
    await stack.usageOf(client, CALLS)
    await expect.poll(() => second.events).toContain('adoption.done')
  } finally {
    await holder.end()
  }
})
