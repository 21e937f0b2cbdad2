import { deepEqual, equal, ok } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { untilPatiently } from '../support/patience.ts'
import type { ComposeStack } from './stack.ts'
import { makeCalls, type Traffic } from './traffic.ts'

const run = promisify(execFile)

const CALLS = 2_500
const AT_ONCE = 8
const EVERY_MS = 40
const ROLL_AFTER = 100

/** deploy/roll.sh under steady calls: every gateway and worker is of the next image, and no call failed. */
export async function checkUpgrade(stack: ComposeStack, baseUrl: string): Promise<void> {
  const { tallygate, docker, containers, env } = stack
  await tallygate('client', 'create', 'upgraded')
  const { key } = await tallygate('key', 'create', '--client', 'upgraded')
  const traffic: Traffic = { sent: 0, answered: new Set(), failures: [] }
  const load = { baseUrl, key, calls: Number.POSITIVE_INFINITY, atOnce: AT_ONCE, everyMs: EVERY_MS }
  const calling = makeCalls(load, traffic)
  await untilPatiently(async () => (traffic.answered.size >= ROLL_AFTER ? true : null), { timeoutMs: 60_000 })

  const before = await docker('image', 'inspect', '--format', '{{.Id}}', 'tallygate')
  const ids = await containers('gateway')
  const container = await docker('create', '--label', 'release=next', 'tallygate')
  await docker('commit', '--change', 'LABEL release=next', container, 'tallygate')
  await docker('rm', container)
  const after = await docker('image', 'inspect', '--format', '{{.Id}}', 'tallygate')
  ok(before !== after, 'the next image is another one')
  const startedMs = performance.now()
  await run('deploy/roll.sh', [], { env: { ...env, BUILD: 'false' } })
  const tookMs = performance.now() - startedMs
  load.calls = Math.max(CALLS, traffic.sent)
  await calling
  const made = traffic.sent
  deepEqual(traffic.failures, [], 'an upgrade fails no call')
  for (const service of ['gateway', 'worker']) {
    const running = await containers(service)
    if (service === 'gateway') equal(running.length, ids.length, 'as many gateways as before')
    for (const one of running) equal(await docker('inspect', '--format', '{{.Image}}', one), after)
  }
  const counted = await untilPatiently(
    async () => {
      const usage = await fetch(`${baseUrl}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })
      const { requests } = Object(await usage.json())
      return requests === made ? true : null
    },
    { timeoutMs: 30_000 },
  )
  ok(counted, 'all calls of an upgrade are counted')
  console.log(
    `upgraded ${ids.length} gateways and their worker in ${Math.round(tookMs / 1_000)} s: 0 of ${made} calls failed, all are counted`,
  )
}
