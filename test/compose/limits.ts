import { deepEqual, equal, ok } from 'node:assert/strict'
import { untilPatiently } from '../support/patience.ts'
import type { ComposeStack } from './stack.ts'

/** A receiver of alerts in the container of the demo upstream: each body is a line of a file. */
const RECEIVER_PORT = 4020
const RECEIVED = '/tmp/alerts'
const RECEIVER = `
  import { appendFileSync } from 'node:fs'
  import { createServer } from 'node:http'
  createServer(async (request, response) => {
    appendFileSync('${RECEIVED}', (await request.setEncoding('utf8').toArray()).join('') + '\\n')
    response.end()
  }).listen(${RECEIVER_PORT})`
/** Calls in a row by which each gateway was asked. */
const REFUSED_IN_A_ROW = 12
/** A worker looks at budgets every 15 s. */
const ALERTED_WITHIN_MS = 60_000

/** A budget set by the command line holds at all gateways, and workers reach a receiver of alerts about it. */
export async function checkLimits({ compose, tallygate }: ComposeStack, baseUrl: string): Promise<void> {
  await compose(
    ...['exec', '--no-TTY', '--detach', 'demo-upstream', 'node', '--input-type=module', '--eval', RECEIVER],
  )
  await tallygate('client', 'create', 'limited')
  const { key } = await tallygate('key', 'create', '--client', 'limited')
  const url = `http://demo-upstream:${RECEIVER_PORT}/`
  const { id } = await tallygate('alerts', 'add', '--url', url, '--on', 'budget,gap,journal')
  const tested = await untilPatiently(() => tallygate('alerts', 'test', id).catch(() => null), {
    timeoutMs: 30_000,
  })
  equal(tested?.status, 200)
  const budget = ['--budget', '0.000000000001', '--per', 'total']
  await tallygate('limits', 'set', '--client', 'limited', ...budget, '--rpm', '600')

  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'limited' }] })
  let served = 0
  let inARow = 0
  const refused = async () => {
    const answer = await fetch(`${baseUrl}/v1/chat/completions`, { method: 'POST', headers, body })
    const { error } = Object(await answer.json())
    if (answer.status === 200) {
      served += 1
      inARow = 0
      return null
    }
    deepEqual([answer.status, error.code], [429, 'budget_exceeded'])
    inARow += 1
    return inARow === REFUSED_IN_A_ROW ? true : null
  }
  // Slower than its 600 calls a minute.
  ok(
    await untilPatiently(refused, { timeoutMs: 60_000, everyMs: 120 }),
    'a budget that is spent refuses at all gateways',
  )
  ok(served > 0, 'a call fits a budget of which nothing is spent')

  const counted = await untilPatiently(
    async () => {
      const usage = await fetch(`${baseUrl}/v1/usage?include=limits`, { headers })
      const shown = Object(await usage.json())
      return shown.requests === served ? shown : null
    },
    { timeoutMs: 30_000 },
  )
  ok(counted !== null, 'every call that was served is counted, and none that was refused')
  equal(counted.limits.find(({ kind }: { kind: string }) => kind === 'budget').spent_usd, counted.cost_usd)
  const [standing] = await tallygate('limits', 'show', '--client', 'limited')
  deepEqual([Number(standing.spent_usd), standing.left_usd], [counted.cost_usd, '0'])

  const thresholds = async () => {
    const received = await compose('exec', '--no-TTY', 'demo-upstream', 'cat', RECEIVED)
    const lines = received.split('\n').map((line) => JSON.parse(line))
    const sent = lines.filter(({ type }) => type === 'budget').map(({ threshold }) => threshold)
    return sent.length < 3 ? null : sent.sort((a, b) => a - b)
  }
  deepEqual(await untilPatiently(thresholds, { timeoutMs: ALERTED_WITHIN_MS }), [50, 80, 100])
  console.log(`a budget refused at all gateways after ${served} calls, and its alerts were delivered`)
}
