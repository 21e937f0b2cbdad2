// @long: gateways in processes of their own, one of them killed
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GatewayProcess, startGatewayProcess } from '../gateway-process.ts'
import { dies, startTargets, type Targets } from './three-targets.ts'

let targets: Targets
let journalDir: string
const gateways: GatewayProcess[] = []

beforeAll(async () => {
  targets = await startTargets()
  journalDir = await mkdtemp(join(tmpdir(), 'tallygate-test-attempts-'))
})

afterAll(async () => {
  for (const { child } of gateways) child.kill('SIGKILL')
  await Promise.all(gateways.map(({ exited }) => exited))
  await targets?.stop()
  await rm(journalDir, { recursive: true, force: true })
})

async function startGateway(): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess({ ...targets.stack.env, JOURNAL_DIR: journalDir })
  gateways.push(gateway)
  return gateway
}

test('a gateway that is killed amid the second attempt leaves one call there, and what the first may cost', async () => {
  const client = await targets.stack.addClient('killed')
  const first = await startGateway()
  targets.upstreams.alpha.answer(dies)
  targets.upstreams.beta.answer(() => {
    first.child.kill('SIGKILL')
  })
  const answer = fetch(`${first.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'smart', max_tokens: 16, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await expect(answer).rejects.toThrow()
  await first.exited
  await startGateway()
  await targets.stack.usageOf(client, 1)
  const rows = await targets.stack.calls(client)
  const calls = rows.filter(({ told_by }) => told_by === null)
  expect(calls).toMatchObject([
    { upstream: 'beta', requested_model: 'm-beta', outcome: 'interrupted', status: null, cost_pico: '0' },
  ])
  expect(rows.filter(({ told_by }) => told_by !== null)).toMatchObject([
    { upstream: 'alpha', model: 'm-alpha', usage_source: 'estimated', told_by: calls[0]?.call_id },
  ])
  expect(targets.asked()).toEqual({ alpha: ['m-alpha'], beta: ['m-beta'] })
})
