import { deepEqual, equal, ok } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { stopWithMe } from '../../src/standalone/stand/stop-with-me.ts'
import { makeCalls, type Traffic } from '../compose/traffic.ts'
import { untilPatiently } from '../support/patience.ts'
import { startPrivatePostgres, startPrivateRedis } from '../support/servers/servers.ts'
import { startUpstream } from '../support/upstream.ts'
import { checkOut, findOlderCommit } from './checkout.ts'

/**
 * From an older commit to this checkout, under steady calls and with calls that wait: the schema is migrated beside old
 * gateways and workers, then workers are replaced, then the gateway. No call may fail, and each is counted once.
 *
 *     npm run test:upgrade                # from the commit before the newest migration
 *     npm run test:upgrade -- 8f1628d7    # from that one
 */
const AT_ONCE = 4
const EVERY_MS = 25
const FIRST = 100
const WAITING = 100
const LAST = 100
const GRACE_MS = 60_000

const commit = process.argv[2] ?? (await findOlderCommit())
const folder = await mkdtemp(join(tmpdir(), 'tallygate-upgrade-'))
const end = stopWithMe(folder)
const [postgres, redis, upstream] = await Promise.all([
  startPrivatePostgres(),
  startPrivateRedis(),
  startUpstream(),
])
const env = {
  DATABASE_URL: postgres.url,
  REDIS_URL: redis.url,
  KEY_PEPPER: randomBytes(16).toString('hex'),
  UPSTREAM_URL: upstream.url,
  UPSTREAM_PROVIDER: 'openai',
  JOURNAL_DIR: join(folder, 'journal'),
  TALLYGATE_DATA_DIR: folder,
  PRICES_REFRESH: 'off',
  LOG_LEVEL: 'warn',
}
const old = await checkOut(commit, folder, env)
const next = await checkOut(null, folder, env)
try {
  await old.tallygate('migrate')
  await old.tallygate('client', 'create', 'steady')
  const { key } = JSON.parse((await old.tallygate('--json', 'key', 'create', '--client', 'steady')).out)
  const ports = [await findFreePort(), await findFreePort()] as const
  const before = await old.gateway(ports[0])
  const oldWorker = await old.worker()
  console.log(`${old.name} runs`)

  const traffic: Traffic = { sent: 0, answered: new Set(), failures: [] }
  const target = { port: ports[0] as number }
  const load = {
    baseUrl: () => `http://127.0.0.1:${target.port}`,
    key,
    calls: Number.POSITIVE_INFINITY,
    atOnce: AT_ONCE,
    everyMs: EVERY_MS,
  }
  const calling = makeCalls(load, traffic)
  await reached(traffic, FIRST)

  const first = await next.tallygate('migrate')
  if (first.code !== 0) {
    ok(first.err.includes('needs the workers stopped'), first.err)
    console.log(`refused while a worker runs: ${first.err.trim()}`)
    await oldWorker.stop(GRACE_MS)
    const second = await next.tallygate('migrate')
    equal(second.code, 0, second.err)
  } else {
    console.log(`migrated beside the old gateway and worker: ${first.out.trim()}`)
    const at = await countedNow(key, target.port)
    ok(
      await untilPatiently(async () => ((await countedNow(key, target.port)) > at ? true : null), {
        timeoutMs: 30_000,
      }),
    )
    console.log('the old worker counts on the new schema')
    await oldWorker.kill()
  }
  // No worker counts: these wait.
  const waitFrom = traffic.answered.size
  await reached(traffic, waitFrom + WAITING)
  const worker = await next.worker()
  if (old.saysItsRelease) {
    ok(await untilPatiently(async () => (await releases())?.state === 'wrong' || null, { timeoutMs: 20_000 }))
    console.log(`doctor: ${(await releases())?.detail}`)
  }
  const after = await next.gateway(ports[1])
  target.port = ports[1]
  equal(await before.stop(GRACE_MS), 'exit code 0')
  load.calls = traffic.sent + LAST
  await calling
  const made = traffic.sent
  deepEqual(traffic.failures, [], 'an upgrade fails no call')
  ok(
    await untilPatiently(async () => ((await countedNow(key, target.port)) === made ? true : null), {
      timeoutMs: 60_000,
    }),
    'all calls are counted',
  )
  ok(await untilPatiently(async () => (await releases())?.state === 'ok' || null, { timeoutMs: 20_000 }))
  const verified = await next.tallygate('ledger', 'verify')
  equal(verified.code, 0, verified.out + verified.err)
  console.log(`${made} calls over an upgrade from ${old.name}: 0 failed, all counted once, verify is clean`)
  await after.stop(GRACE_MS)
  await worker.stop(GRACE_MS)
} finally {
  await old.remove()
  await upstream.close()
  await Promise.all([postgres.stop(), redis.stop()])
  await end.now()
}
process.exit(0)

async function releases(): Promise<{ readonly state: string; readonly detail: string } | undefined> {
  const { checks } = JSON.parse((await next.tallygate('doctor', '--json')).out)
  return checks.find(({ name }: { name: string }) => name === 'releases')
}

async function reached(traffic: Traffic, calls: number): Promise<void> {
  const done = async () => (traffic.answered.size >= calls ? true : null)
  ok(
    await untilPatiently(done, { timeoutMs: 120_000 }),
    `${calls} calls were not answered: ${traffic.failures[0]}`,
  )
}

async function countedNow(key: string, port: number): Promise<number> {
  const usage = await fetch(`http://127.0.0.1:${port}/v1/usage`, {
    headers: { authorization: `Bearer ${key}` },
  })
  return Object(await usage.json()).requests
}
