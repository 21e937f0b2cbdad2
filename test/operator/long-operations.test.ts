import Fastify from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { LongText } from '../../src/operations/long-text.ts'
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
  const state = {
    begun: 0,
    parts: 0,
    isOver: false,
    outcome: '',
    opened: 0,
    ended: 0,
    pools: [] as unknown[],
  }
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
    async run({ pool, progress }: Ports) {
      state.begun += 1
      state.pools.push(pool)
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
  const openLong = () => {
    state.opened += 1
    return {
      name: state.opened,
      end: async () => {
        state.ended += 1
      },
    } as unknown as Ports['pool']
  }
  const actorOf = () => ({ name: 'a test', from: 'here', who: 'a test' })
  const served = { ports: () => ports, actorOf, announce: () => {}, replicaLagMs: () => null, openLong }
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

test('each long operation has a connection of its own, which ends with it: no report waits behind it', async () => {
  const { state, url } = await serveLong('read')
  state.isOver = true
  expect((await fetch(url)).status).toBe(200)
  expect((await fetch(url)).status).toBe(200)
  await expect.poll(() => state.ended).toBe(2)
  expect(state.pools).toMatchObject([{ name: 1 }, { name: 2 }])
})

/** A listener with an export of endless parts. */
async function serveExport() {
  const state = { read: 0, closed: 0, ended: 0 }
  async function* parts() {
    try {
      for (;;) {
        state.read += 1
        yield { where: '2026-03-04', text: `${'x'.repeat(50_000)}\n`, rows: 1 }
      }
    } finally {
      state.closed += 1
    }
  }
  const exported = operation({
    name: 'usage.export',
    summary: 'Never ends.',
    role: 'read',
    http: { method: 'GET', path: '/export', id: 'export' },
    input: {},
    answer: z.custom<LongText>((given) => given instanceof LongText),
    streams: ['text/csv'],
    gives: 'A text.',
    isLong: true,
    command: { none: 'a test' },
    run: (_: Ports) => LongText.begin('text/csv', { from: '2026-03-04', to: '2026-03-04' }, parts()),
  })
  const app = Fastify()
  app.setErrorHandler((error, _request, reply) => answerError(error as Error, reply))
  const ports = { now: Date.now, progress: () => NO_PROGRESS } as unknown as Ports
  const openLong = () =>
    ({
      end: async () => {
        state.ended += 1
      },
    }) as unknown as Ports['pool']
  const actorOf = () => ({ name: 'a test', from: 'here', who: 'a test' })
  const served = { ports: () => ports, actorOf, announce: () => {}, replicaLagMs: () => null, openLong }
  serveOperations(app, [exported as unknown as AnyOperation<Ports>], served)
  apps.push(app)
  return { state, url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/export` }
}

test('a long text is streamed no faster than it is read, and ends with its client, its turn too', async () => {
  const { state, url } = await serveExport()
  for (const round of [1, 2]) {
    const gone = new AbortController()
    const answer = await fetch(url, { signal: gone.signal })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/csv'])
    const reader = answer.body?.getReader()
    expect((await reader?.read())?.value?.[0]).toBe('x'.charCodeAt(0))
    expect((await fetch(url)).status).toBe(409)
    gone.abort()
    await reader?.read().catch(() => {})
    await expect.poll(() => [state.closed, state.ended]).toEqual([round, round])
  }
})

test('long work ends between two parts before its listener closes, a change too', async () => {
  for (const role of ['read', 'write'] as const) {
    const { state, url } = await serveLong(role)
    const asked = fetch(url)
    await expect.poll(() => state.begun).toBe(1)
    await apps.pop()?.close()
    expect([(await asked).status, state.outcome]).toEqual([200, 'ended'])
  }
})
