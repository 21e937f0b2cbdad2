import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { streamNames } from '../../../src/domain/redis/redis-names.ts'
import { busyness } from '../../support/patience.ts'
import { startPrivateRedis } from '../../support/servers/servers.ts'
import { callId } from '../support/calls.ts'
import { makeCalls, type Site, testSite } from '../support/ledgers.ts'

const GATEWAY = fileURLToPath(new URL('../support/crashing-gateway.ts', import.meta.url))
const SOON = { interval: 10 }

interface Crashed {
  /** What its clients were answered before it died. */
  readonly opened: ReadonlySet<number>
  readonly closed: ReadonlySet<number>
}

/** Runs a gateway until it has closed `calls` calls, and kills it in the middle of its work. */
async function crash(site: Site, calls: number, first: number, shards = 1): Promise<Crashed> {
  const prefix = site.stream.replace(/calls$/, '')
  const args = [site.journalDir, site.redisUrl, prefix, `${first}`, `${shards}`]
  const gateway = spawn(process.execPath, [GATEWAY, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const opened = new Set<number>()
  const closed = new Set<number>()
  let rest = ''
  gateway.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) (line.startsWith('opened') ? opened : closed).add(Number(line.slice(7)))
    if (closed.size >= calls) gateway.kill('SIGKILL')
  })
  await once(gateway, 'close')
  return { opened, closed }
}

describe('kill -9 of a gateway in the middle of a burst', () => {
  test('kill -9 of a gateway in the middle of a burst loses no call that a client saw, doubles none, and counts those under way as interrupted', async () => {
    const site = testSite()
    const crashes: Crashed[] = []
    for (const [index, calls] of [1, 50, 700, 3_000].entries()) {
      crashes.push(await crash(site, calls, index * 1_000_000))
    }
    const ledger = await site.ledger()
    await vi.waitFor(() => expect(ledger.stats().adopted).toBe(crashes.length), SOON)
    await vi.waitFor(async () => {
      await site.totals.rollUp(site.redis, site.stream)
      expect(ledger.stats().uncommittedRecords).toBe(0)
    }, SOON)
    const { counted, miscounted } = site.totals
    expect(miscounted).toEqual([])
    for (const { opened, closed } of crashes) {
      expect([...closed].filter((number) => !counted.has(callId(number)))).toEqual([])
      expect([...opened].filter((number) => !counted.has(callId(number)))).toEqual([])
    }
  })

  test('kill -9 of gateways with another number of shards each time loses no call that a client saw and doubles none', async () => {
    const site = testSite()
    const crashes: Crashed[] = []
    const numbers = [4, 1, 3, 2]
    for (const [index, shards] of numbers.entries())
      crashes.push(await crash(site, 300 * (index + 1), index * 1_000_000, shards))
    const streams = streamNames(site.stream.replace(/calls$/, ''), 4)
    const ledger = await site.ledger({ streams: streams.slice(0, 2) })
    await vi.waitFor(() => expect(ledger.stats().adopted).toBe(4 + 1 + 3 + 2), SOON)
    await vi.waitFor(async () => {
      for (const stream of streams) await site.totals.rollUp(site.redis, stream)
      expect(ledger.stats().uncommittedRecords).toBe(0)
    }, SOON)
    const { counted, miscounted, gaps } = site.totals
    expect(miscounted).toEqual([])
    expect(gaps).toEqual([])
    for (const { opened, closed } of crashes)
      for (const number of [...opened, ...closed]) expect(counted.has(callId(number))).toBe(true)
  })

  test('kill -9 of a gateway beside a running one: its calls are counted within seconds, by the running one', async () => {
    const site = testSite()
    const living = await site.ledger()
    site.keepRollingUp()
    const numbers = await makeCalls(living, 9_000_001, 9_000_050)
    const { closed } = await crash(site, 300, 0)
    const diedAtMs = performance.now()
    await vi.waitFor(() => {
      for (const number of [...closed, ...numbers]) expect(site.totals.counted.get(callId(number))).toBe(1)
    }, SOON)
    expect(performance.now() - diedAtMs).toBeLessThan(8_000 * busyness())
    expect(site.totals.miscounted).toEqual([])
  })

  test('kill -9 of every gateway in turn, each adopting the ones before, leaves totals that are exact', async () => {
    const site = testSite()
    const seen: number[] = []
    for (let run = 0; run < 4; run++) {
      const { closed } = await crash(site, 200, run * 1_000_000)
      seen.push(...closed)
    }
    expect(readdirSync(site.journalDir).length).toBe(4)
    const ledger = await site.ledger()
    await vi.waitFor(() => expect(ledger.stats().adopted).toBe(4), SOON)
    await vi.waitFor(async () => {
      await site.totals.rollUp(site.redis, site.stream)
      expect(ledger.stats().uncommittedRecords).toBe(0)
    }, SOON)
    expect(site.totals.miscounted).toEqual([])
    expect(seen.filter((number) => !site.totals.counted.has(callId(number)))).toEqual([])
  })
})

describe('a Redis of one’s own', () => {
  test('with Redis frozen, calls go on, the connection is given up, and all is counted once when it thaws', async () => {
    const server = await startPrivateRedis()
    try {
      const site = testSite({ redisUrl: server.url })
      const ledger = await site.ledger()
      const numbers = await makeCalls(ledger, 1, 100)
      await site.expectCounted(numbers)
      server.freeze()
      const startedAtMs = performance.now()
      for (let from = 101; from <= 2_000; from += 100)
        numbers.push(...(await makeCalls(ledger, from, from + 99)))
      // Were each to wait until Redis is given up, it would be a minute.
      expect(performance.now() - startedAtMs).toBeLessThan(10_000 * busyness())
      await vi.waitFor(() => expect(ledger.stats().redisConnected).toBe(false), SOON)
      server.thaw()
      await site.expectCounted(numbers)
    } finally {
      server.thaw()
      await server.stop()
    }
  })

  test('a Redis killed and started empty, again and again under load, loses nothing and doubles nothing', async () => {
    const server = await startPrivateRedis()
    try {
      const site = testSite({ redisUrl: server.url })
      const ledger = await site.ledger()
      site.keepRollingUp()
      const numbers: number[] = []
      for (let round = 0; round < 4; round++) {
        for (let burst = 0; burst < 10; burst++) {
          const from = round * 10_000 + burst * 100
          numbers.push(...(await makeCalls(ledger, from, from + 99)))
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
        await server.kill()
        numbers.push(...(await makeCalls(ledger, round * 10_000 + 5_000, round * 10_000 + 5_099)))
        await server.start()
      }
      await vi.waitFor(() => expect(site.totals.counted.size).toBe(numbers.length), SOON)
      expect(site.totals.miscounted).toEqual([])
    } finally {
      await server.stop()
    }
  })

  test('what a full Redis refuses is sent again when it has room', async () => {
    const server = await startPrivateRedis()
    try {
      const site = testSite({ redisUrl: server.url })
      const ledger = await site.ledger()
      const numbers = await makeCalls(ledger, 1, 10)
      await site.expectCounted(numbers)
      await site.redis.config('SET', 'maxmemory', '1')
      numbers.push(...(await makeCalls(ledger, 11, 300)))
      await vi.waitFor(() => expect(ledger.stats().redisConnected).toBe(false), SOON)
      await site.redis.config('SET', 'maxmemory', '0')
      await site.expectCounted(numbers)
    } finally {
      await server.stop()
    }
  })
})
