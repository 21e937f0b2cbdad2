import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { findHelm, render } from '../../../scripts/chart/helm.ts'
import { makeCalls, type Traffic } from '../../compose/traffic.ts'
import { untilPatiently } from '../../support/patience.ts'
import { docker, makeNetwork, NETWORK, type RunningPod, runPod, startPod } from './engine.ts'
import { workloadsIn } from './workloads.ts'

/**
 * The chart's pods as containers, on a Docker engine: `npm run test:pods`, or with `-- --no-build` and the images that
 * are there. Their commands, variables, users, rights, probes, claims and preStop are those that Helm renders. A gateway
 * and a worker are killed; a gateway is scaled down while Redis does not answer, so that its claim is left with calls, and
 * another while it does. All that was answered is counted once.
 */
const TAG = 'test-pods'
const SECRETS = {
  tallygate: {
    DATABASE_URL: 'postgresql://tallygate:test@postgres:5432/tallygate',
    REDIS_URL: 'redis://redis:6379',
    KEY_PEPPER: 'a-pepper-of-the-test-of-pods-0123456789',
    ADMIN_TOKEN: 'a-token-of-the-test-of-pods-0123456789',
  },
}
const VALUES = {
  image: { tag: TAG },
  env: { UPSTREAM_URL: 'http://demo-upstream:4010', UPSTREAM_PROVIDER: 'openai' },
  gateway: { replicas: 3, drainSeconds: 5 },
}
const AT_ONCE = 8
const EVERY_MS = 40
/** Answers between two of the things that happen. */
const ANSWERS = 200
const COUNTED = { timeoutMs: 60_000 }
const COUNTS = `select count(*), count(distinct call_id), (select sum(requests) from tallygate.daily_usage) from tallygate.calls`
const DRAIN = ['tallygate', 'journal', 'drain', '--folder', '/var/lib/tallygate/journal']

const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true })
const started: string[] = []
const claims: string[] = []
try {
  if (!process.argv.includes('--no-build')) await build()
  await makeNetwork()
  await startStores()
  await tryPods(renderPods(await findHelm()))
} finally {
  if (started.length > 0) await docker('rm', '--force', ...started).catch(console.error)
  if (claims.length > 0) await docker('volume', 'rm', '--force', ...claims).catch(console.error)
  await docker('network', 'rm', NETWORK).catch(console.error)
}

async function build(): Promise<void> {
  for (const [target, image] of [
    ['production', `tallygate:${TAG}`],
    ['demo', `tallygate-demo:${TAG}`],
  ] as const)
    await docker('build', '--network', 'host', '--target', target, '--tag', image, '.')
}

/** PostgreSQL, Redis and a provider, which are outside of the chart. */
async function startStores(): Promise<void> {
  const start = async (
    name: string,
    image: string,
    options: readonly string[],
    command: readonly string[],
  ) => {
    started.push(`${NETWORK}-${name}`)
    const place = ['--name', `${NETWORK}-${name}`, '--network', NETWORK, '--network-alias', name]
    await docker('run', '--detach', ...place, ...options, image, ...command)
  }
  const variables = ['POSTGRES_USER=tallygate', 'POSTGRES_DB=tallygate', 'POSTGRES_PASSWORD=test']
  const env = variables.flatMap((variable) => ['--env', variable])
  await start('postgres', services.postgres.image, env, [])
  await start(
    'redis',
    services.redis.image,
    [],
    ['redis-server', '--appendonly', 'yes', '--protected-mode', 'no'],
  )
  await start('demo-upstream', `tallygate-demo:${TAG}`, [], services['demo-upstream'].command)
}

function renderPods(helm: string): ReturnType<typeof workloadsIn> {
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-pods-'))
  try {
    const file = join(folder, 'values.json')
    writeFileSync(file, JSON.stringify(VALUES))
    return workloadsIn(render(helm, file))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function tryPods({ Job, Deployment, StatefulSet }: ReturnType<typeof workloadsIn>): Promise<void> {
  await migrate(Job)
  const start = async (of: typeof Job, index: number) => {
    const name = `${of.metadata.name}-${index}`
    started.push(name)
    claims.push(`${name}-journal`)
    return await startPod(name, of.spec.template.spec, SECRETS, `${name}-journal`)
  }
  const all = (of: typeof Job) =>
    Promise.all(Array.from({ length: of.spec.replicas ?? 1 }, (_, index) => start(of, index)))
  const [workers, gateways] = await Promise.all([all(Deployment), all(StatefulSet)])
  await Promise.all([...workers, ...gateways].map((pod) => pod.ready()))
  const [first, second, third] = gateways
  const [worker] = workers
  if (first === undefined || second === undefined || third === undefined || worker === undefined)
    throw new Error('the chart has too few pods')

  /** Those that the Service sends calls to. */
  const endpoints = new Set(gateways)
  let turn = 0
  const next = () => [...endpoints][turn++ % endpoints.size]?.url('http') ?? ''
  await tallygate(first, 'client', 'create', 'trial')
  const { key } = await tallygate(first, 'key', 'create', '--client', 'trial')
  const traffic: Traffic = { sent: 0, answered: new Set(), failures: [] }
  const load = { baseUrl: next, key, calls: Number.POSITIVE_INFINITY, atOnce: AT_ONCE, everyMs: EVERY_MS }
  const calling = makeCalls(load, traffic)

  await answers(traffic)
  endpoints.delete(first)
  await Promise.all([first.kill(), worker.kill()])
  await first.ready()
  endpoints.add(first)
  const cut = traffic.failures.length
  ok(cut <= AT_ONCE, `a kill cut ${cut} calls: ${traffic.failures.join('\n')}`)

  await answers(traffic)
  await docker('pause', `${NETWORK}-redis`)
  await answers(traffic)
  endpoints.delete(third)
  const undrained = await third.end()
  deepEqual(undrained, { preStop: 1, container: 0 }, 'preStop says that it could not wait for Redis')
  await docker('unpause', `${NETWORK}-redis`)
  await answers(traffic)

  endpoints.delete(second)
  deepEqual(await second.end(), { preStop: 0, container: 0 }, 'preStop waits until all is counted')
  await answers(traffic)
  load.calls = traffic.sent
  await calling
  deepEqual(traffic.failures.slice(cut), [], 'pods that end fail no call')

  await docker('exec', first.name, 'tallygate', 'journal', 'drain')
  const waiting = await missing(traffic)
  ok(waiting > 0, 'the claim of the one that ended without Redis has calls')
  const pod = StatefulSet.spec.template.spec
  for (const { name } of [third, second])
    console.log(await runPod(`${name}-claim`, pod, SECRETS, `${name}-journal`, DRAIN))
  equal(await untilPatiently(async () => ((await missing(traffic)) === 0 ? true : null), COUNTED), true)
  const [rows, different, total] = (await query(COUNTS)).split('|')
  deepEqual([different, total], [rows, rows], 'each call is counted once')
  console.log(
    `${gateways.length} gateways and ${workers.length} workers of the chart: ${traffic.sent} calls, ` +
      `${traffic.answered.size} answered and all of them counted once, ${cut} cut by the kill, ` +
      `${waiting} counted from the claim of a gateway that was scaled down; 0 lost, 0 doubled`,
  )
}

async function migrate(job: ReturnType<typeof workloadsIn>['Job']): Promise<void> {
  const { template } = job.spec
  const migrated = await untilPatiently(
    // As Kubernetes: again where it failed, since PostgreSQL may still be starting.
    () => runPod(job.metadata.name, template.spec, SECRETS, '').catch(() => null),
    { timeoutMs: 60_000 },
  )
  ok(migrated !== null, 'the Job of migrations ends with 0')
}

async function tallygate(
  pod: RunningPod,
  ...args: readonly string[]
): Promise<ReturnType<typeof JSON.parse>> {
  return JSON.parse(await docker('exec', pod.name, 'tallygate', '--json', ...args))
}

/** Waits for so many more answers. */
async function answers(traffic: Traffic): Promise<void> {
  const enough = traffic.answered.size + ANSWERS
  const done = () => (traffic.answered.size >= enough ? true : null)
  ok(await untilPatiently(done, { timeoutMs: 120_000 }), `no ${ANSWERS} more answers`)
}

async function query(sql: string): Promise<string> {
  const psql = ['psql', '--username=tallygate', '--dbname=tallygate', '--tuples-only', '--no-align']
  return await docker('exec', `${NETWORK}-postgres`, ...psql, '--command', sql)
}

/** Calls that were answered and are not counted. */
async function missing({ answered }: Traffic): Promise<number> {
  const rows = new Set((await query('select call_id from tallygate.calls')).split('\n'))
  return [...answered].filter((id) => !rows.has(id)).length
}
