import Fastify from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { type AnyOperation, operation } from '../../src/operations/operation.ts'
import { NO_PROGRESS, type Ports } from '../../src/operations/ports.ts'
import { answerError } from '../../src/operator/admin-answers.ts'
import { serveOperations } from '../../src/operator/serve-operations.ts'

const apps: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()))
})

/** A listener with one long operation that goes from part to part until `isOver`. */
async function serveLong(role: 'read' | 'write') {
  const state = { begun: 0, parts: 0, isOver: false, outcome: '' }
  const long = operation({
    name: 'books.check',
    summary: 'Takes long.',
    role,
    http: { method: 'GET', path: '/long', id: 'long' },
    input: {},
    answer: z.string(),
    gives: 'A text.',
    isLong: true,
    command: { none: 'a test' },
    async run({ progress }: Ports) {
      state.begun += 1
      const shown = progress('parts')
      try {
        while (!state.isOver) {
          await new Promise((resolve) => setImmediate(resolve))
          state.parts += 1
          shown.at('a day', state.parts)
        }
        state.outcome = 'done'
      } catch {
        state.outcome = 'ended'
      }
      return 'done'
    },
  })
  const app = Fastify()
  app.setErrorHandler((error, _request, reply) => answerError(error as Error, reply))
  const ports = { now: Date.now, progress: () => NO_PROGRESS } as unknown as Ports
  const served = { ports, announce: () => {}, replicaLagMs: () => null }
  serveOperations(app, [long as unknown as AnyOperation<Ports>], served)
  apps.push(app)
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/long`
  return { state, url }
}

test('a process does one long operation at a time, and the next once it is over', async () => {
  const { state, url } = await serveLong('read')
  const first = fetch(url)
  await expect.poll(() => state.begun).toBe(1)
  const second = await fetch(url)
  expect([second.status, await second.json()]).toMatchObject([
    409,
    { error: { code: 'conflict', message: 'books.check still runs here, so ask again after it.' } },
  ])
  state.isOver = true
  expect((await first).status).toBe(200)
  expect((await fetch(url)).status).toBe(200)
})

test('reading ends between two parts once its client is gone, and what changes something goes on', async () => {
  for (const [role, outcome] of [
    ['read', 'ended'],
    ['write', 'done'],
  ] as const) {
    const { state, url } = await serveLong(role)
    const gone = new AbortController()
    const asked = fetch(url, { signal: gone.signal }).catch(() => null)
    await expect.poll(() => state.begun).toBe(1)
    gone.abort()
    await asked
    if (role === 'write') {
      const seen = state.parts
      await expect.poll(() => state.parts).toBeGreaterThan(seen + 100)
      state.isOver = true
    }
    await expect.poll(() => state.outcome).toBe(outcome)
  }
})
