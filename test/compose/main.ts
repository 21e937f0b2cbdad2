import { deepEqual, equal, ok } from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { measured, untilPatiently } from '../support/patience.ts'
import { checkHttps } from './https.ts'
import { checkLimits } from './limits.ts'
import { checkRestore } from './restore.ts'
import { type ComposeStack, composeStack, missingEngine, readRights } from './stack.ts'
import { makeCalls, type Traffic } from './traffic.ts'
import { checkUpgrade } from './upgrade.ts'
import { checkWatch } from './watch.ts'

/**
 * The production form on a real engine: the stack of docker-compose.yml comes up with three gateways, its containers are
 * hardened, its limits hold and its alerts arrive, and of 1,500 calls and more through a kill -9 of a gateway and a rolling restart
 * every one that was served is counted. `deploy/roll.sh` fails none of 2,500, and the documentation's commands bring back
 * what was destroyed. The balancer has HTTPS. Prometheus of the profile `watch` finds all of it, and so does Grafana, where there are images.
 *
 *     npm run test:compose                # builds the images first
 *     npm run test:compose -- --no-build  # takes those that are there
 */
/** Node and all that is ours, unpacked. What is left of Debian adds 55 MB, or 77 on arm64: together at most 250. */
const MOST_MEGABYTES = 170
const START = ['up', '--no-build', '--wait', '--scale', 'gateway=3']
/** Of an idle machine, with three gateways. */
const HEALTHY_WITHIN_MS = 15_000
const CALLS = 1_500
const AT_ONCE = 8
const EVERY_MS = 80
const KILL_AFTER = 200
const RESTART_AFTER = 450
/** Calls that find all gateways restarted. */
const AFTER_RESTARTS = 100

const { values } = parseArgs({ options: { 'no-build': { type: 'boolean', default: false } } })
const [port, adminPort] = [await findFreePort(), await findFreePort()]
const stack = composeStack({
  PORT: `${port}`,
  ADMIN_PORT: `${adminPort}`,
  UPSTREAM_URL: '',
  UPSTREAM_API_KEY: '',
  // Whose prices the calls to the demo upstream have: a budget refuses models without one.
  UPSTREAM_PROVIDER: 'openai',
  // The proxy of this machine's user is none of the stack's.
  HTTPS_PROXY: '',
  HTTP_PROXY: '',
})

const missing = await missingEngine(stack)
if (missing !== null) {
  console.error(`test:compose needs a Docker engine with Compose v2: ${missing}`)
  process.exit(1)
}
try {
  if (!values['no-build']) await stack.compose('build')
  await checkSize(stack)
  await checkStart(stack)
  await checkHardening(stack)
  await checkOperatorsListener(stack)
  await checkLimits(stack, `http://127.0.0.1:${port}`)
  await checkCounting(stack)
  await checkWatch(stack)
  await checkHttps(stack)
  await checkRestore(stack, `http://127.0.0.1:${port}`)
  // Of what was restored: an upgrade finds its keys. The documentation's commands start one gateway, which goes on.
  await stack.compose(...START, '--no-deps', '--no-recreate', 'gateway')
  await checkUpgrade(stack, `http://127.0.0.1:${port}`)
} catch (error) {
  console.error(await stack.compose('logs', '--tail', '20').catch(String))
  throw error
} finally {
  const all = ['--profile', 'demo', '--profile', 'watch']
  await stack.compose(...all, 'down', '--volumes', '--timeout', '60')
}

async function checkSize({ docker }: ComposeStack): Promise<void> {
  const measure = ['run', '--rm', '--entrypoint', 'du', 'tallygate', '--bytes', '--summarize']
  const sizes = await docker(...measure, '/app', '/usr/local', '/opt')
  const [ours = 0, ...others] = sizes.split('\n').map((line) => Number.parseInt(line, 10) / 1e6)
  const whole = others.reduce((sum, megabytes) => sum + megabytes, ours)
  console.log(`the image has ${whole.toFixed(0)} MB beside Debian, ${ours.toFixed(0)} of them ours`)
  ok(whole <= MOST_MEGABYTES, `the image has ${whole.toFixed(0)} MB beside Debian`)
}

/** From nothing: secrets, databases and schema are made. */
async function checkStart({ compose }: ComposeStack): Promise<void> {
  const took = await measured(() => compose(...START))
  console.log(
    `healthy after ${(took.ms / 1_000).toFixed(1)} s, of an idle machine ${(took.idleMs / 1_000).toFixed(1)} s`,
  )
  ok(took.idleMs <= HEALTHY_WITHIN_MS, 'it takes too long to be healthy')
}

async function checkHardening({ compose, docker, containers }: ComposeStack): Promise<void> {
  const services = (await compose('config', '--services')).split('\n')
  for (const service of services) {
    for (const container of await containers(service)) {
      const rights = await readRights(stack, container)
      const { user, effectiveCapabilities, noNewPrivileges, ...rest } = rights
      deepEqual(rest, {
        readOnly: true,
        capabilitiesDropped: ['ALL'],
        securityOptions: ['no-new-privileges:true'],
      })
      ok(!['', '0', 'root'].includes(user), `${service} runs as ${user}`)
      ok(effectiveCapabilities === null || /^0+$/.test(effectiveCapabilities), `${service} has capabilities`)
      ok(noNewPrivileges !== false, `${service} may get new privileges`)
      console.log(`${service.padEnd(14)} ${JSON.stringify(rights)}`)
    }
  }
  const packages = await docker('run', '--rm', '--entrypoint', 'ls', 'tallygate', 'node_modules')
  deepEqual(
    packages.split('\n').filter((name) => name === '@copilotkit'),
    [],
  )
}

/** /metrics is on this machine's loopback address by the balancer, and in the network of operators; nowhere else. */
async function checkOperatorsListener({ compose }: ComposeStack): Promise<void> {
  equal((await fetch(`http://127.0.0.1:${adminPort}/metrics`)).status, 200)
  const script = `
    for (const name of ['gateway', 'gateway-of-clients', 'gateway-of-operators'])
      await fetch('http://' + name + ':8081/metrics').then(
        () => console.log(name), () => {})`
  const reachedFrom = (service: string) =>
    compose('exec', '--no-TTY', service, 'node', '--input-type=module', '--eval', script)
  equal(await reachedFrom('demo-upstream'), '')
  // A worker is of that network, for its own /metrics.
  equal(await reachedFrom('worker'), 'gateway-of-operators')
}

async function checkCounting({ compose, docker, containers, tallygate }: ComposeStack): Promise<void> {
  await tallygate('client', 'create', 'trial')
  const { key } = await tallygate('key', 'create', '--client', 'trial')
  const baseUrl = `http://127.0.0.1:${port}`
  const traffic: Traffic = { sent: 0, answered: new Set(), failures: [] }
  const load = { baseUrl, key, calls: Number.POSITIVE_INFINITY, atOnce: AT_ONCE, everyMs: EVERY_MS }
  const calling = makeCalls(load, traffic)

  await reached(traffic, KILL_AFTER)
  const gateways = await containers('gateway')
  const [killed = ''] = gateways
  await docker('kill', '--signal', 'KILL', killed)
  await docker('start', killed)
  await healthy(killed, docker)
  const cut = traffic.failures.length
  ok(cut <= AT_ONCE, `a kill cut ${cut} calls: ${traffic.failures.join('\n')}`)

  await reached(traffic, RESTART_AFTER)
  for (const gateway of gateways) {
    await docker('restart', '--time', '50', gateway)
    await healthy(gateway, docker)
  }
  const during = traffic.sent
  console.log(`killed one gateway and restarted all three within the first ${during} calls`)
  load.calls = Math.max(CALLS, during + AFTER_RESTARTS)
  await calling
  deepEqual(traffic.failures.slice(cut), [], 'a rolling restart fails no call')

  const select = `select call_id from tallygate.calls`
  const query = ['psql', '--username=tallygate', '--tuples-only', '--no-align', '--command', select]
  const allCounted = await untilPatiently(
    async () => {
      const rows = new Set((await compose('exec', '--no-TTY', 'postgres', ...query)).split('\n'))
      const left = [...traffic.answered].filter((id) => !rows.has(id))
      return left.length === 0 ? rows : null
    },
    { timeoutMs: 30_000 },
  )
  ok(allCounted !== null, 'every call that was answered is counted')
  const usage = await fetch(`${baseUrl}/v1/usage?days=2`, { headers: { authorization: `Bearer ${key}` } })
  const { requests } = Object(await usage.json())
  ok(requests >= traffic.answered.size && requests <= traffic.sent, `${requests} requests in the summary`)
  console.log(
    `${traffic.sent} calls, ${traffic.answered.size} answered and all of them counted, ${cut} cut by the kill, ${requests} requests in the summary`,
  )
}

async function reached(traffic: Traffic, calls: number): Promise<void> {
  const done = () => (traffic.answered.size >= calls ? true : null)
  ok(await untilPatiently(done, { timeoutMs: 120_000 }), `${calls} calls were not answered`)
}

async function healthy(container: string, docker: ComposeStack['docker']): Promise<void> {
  const isHealthy = async () =>
    (await docker('inspect', '--format', '{{.State.Health.Status}}', container)) === 'healthy' ? true : null
  ok(await untilPatiently(isHealthy, { timeoutMs: 60_000 }), `${container} did not get healthy`)
}
