import { once } from 'node:events'
import { beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { reprice } from '../../../src/corrections/reprice.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { orderTo } from '../../corrections/repricing-order.ts'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import { startStack, type TestClient } from '../../support/servers/stack.ts'
import { chatAnswer, json, type UpstreamHandler } from '../../support/upstream.ts'

const TODAY = new Date().toISOString().slice(0, 10)
/** Of gpt-4o: 0.10 USD for the answer, and next to nothing for the prompt. */
const TEN_CENTS = { model: 'gpt-4o', max_tokens: 10_000, messages: [{ role: 'user', content: 'hi' }] }

let client: TestClient
let number = 0

const { upstream, stack } = await startOwnStack()

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`charged ${number}`)
  upstream.requests.length = 0
})

async function ask(body: object, path = '/v1/chat/completions', to = stack): Promise<number> {
  const answer = await fetch(to.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await answer.arrayBuffer().catch(() => null)
  return answer.status
}

type Order = Parameters<typeof setLimits>[2][number]

async function limit(order: Partial<Order> & Pick<Order, 'kind' | 'amount'>): Promise<void> {
  const scope = { clientId: client.id, keyId: null, model: null }
  const per = order.kind === 'budget' ? 'day' : null
  await setLimits(stack.pool, scope, [{ per, isSoft: false, ...order }], 'test')
  await expect.poll(async () => (await shown()).length).toBe(1)
}

/** A hard budget of so many dollars. */
const budget = (usd: number) => limit({ kind: 'budget', amount: BigInt(Math.round(usd * 1e12)) })

async function shown(): Promise<readonly Record<string, unknown>[]> {
  const { limits } = await stack.usage(client, '?include=limits')
  return limits ?? []
}

async function askTimes(calls: number, body: object, path?: string): Promise<readonly number[]> {
  const statuses: number[] = []
  for (let call = 0; call < calls; call += 1) {
    statuses.push(await ask(body, path))
    // The client has its answer before the gateway has read it, and until then what was reserved is held.
    if (statuses.at(-1) !== 200) continue
    const counted = async () => (await stack.usage(client)).requests
    await expect.poll(counted).toBeGreaterThanOrEqual(served(statuses))
  }
  return statuses
}

const served = (statuses: readonly number[]) => statuses.filter((status) => status === 200).length

/** Its frame has a bit that no frame may have. */
const undecodable: UpstreamHandler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'zstd' })
  response.end(Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), Buffer.alloc(2_000, 0xff)]))
}

const withoutUsage: UpstreamHandler = (_request, response) => json(response, 200, { answer: 'anything' })

const impossible: UpstreamHandler = (_request, response) =>
  json(response, 200, { model: 'gpt-4o', choices: [], usage: { prompt_tokens: 7, completion_tokens: -1 } })

const byAnotherModel: UpstreamHandler = (_request, response) =>
  json(response, 200, {
    model: 'our-model',
    choices: [],
    usage: { prompt_tokens: 1_000, completion_tokens: 10_000, total_tokens: 11_000 },
  })

function responseDone(id: string, outputTokens: number): string {
  const usage = {
    total_tokens: 1_000 + outputTokens,
    input_tokens: 1_000,
    output_tokens: outputTokens,
    input_token_details: { text_tokens: 1_000 },
    output_token_details: { audio_tokens: outputTokens },
  }
  return JSON.stringify({ type: 'response.done', response: { id, status: 'completed', usage } })
}

describe('a hard budget is charged for a served call without a cost', () => {
  test.each<[string, UpstreamHandler, string, object]>([
    ['whose answer cannot be decoded', undecodable, '/v1/chat/completions', TEN_CENTS],
    ['whose figures are impossible', impossible, '/v1/chat/completions', TEN_CENTS],
    ['that a model without a price answered', byAnotherModel, '/v1/chat/completions', TEN_CENTS],
    [
      'that reported no figures',
      withoutUsage,
      '/v1/images/generations',
      { model: 'gpt-image-1', prompt: 'a cat', n: 1 },
    ],
  ])('%s', async (_name, handler, path, body) => {
    upstream.answer(handler)
    await budget(0.5)
    const statuses = await askTimes(15, body, path)
    // What is left of it may be less than one call reserves: that one runs alone.
    expect(served(statuses)).toBeGreaterThan(0)
    expect(served(statuses)).toBeLessThanOrEqual(6)
    expect(new Set(statuses.filter((status) => status !== 200))).toEqual(new Set([429]))
    const usage = await stack.usageOf(client, served(statuses))
    expect(usage.cost_usd).toBe(0)
    const calls = await stack.calls(client)
    expect(calls.map(({ cost_pico }) => cost_pico)).toEqual(calls.map(() => null))
    const [limit] = await shown()
    expect(limit).toMatchObject({ left_usd: 0, spent_usd: limit?.charged_usd })
    expect(Number(limit?.charged_usd)).toBeGreaterThanOrEqual(0.5)
  })

  test('whatever else is on the way: at a gateway that starts with Redis empty as well', async () => {
    upstream.answer(undecodable)
    await budget(0.15)
    expect(await askTimes(3, TEN_CENTS)).toEqual([200, 200, 429])
    await stack.usageOf(client, 2)
    const next = await startStack(upstream.url, {
      databaseUrl: stack.env.DATABASE_URL ?? '',
      workers: false,
    })
    try {
      await expect.poll(() => ask(TEN_CENTS, undefined, next)).toBe(429)
    } finally {
      await next.stop()
    }
  })

  test('until a repricing gives it one', async () => {
    upstream.answer(byAnotherModel)
    await budget(0.15)
    expect(await askTimes(3, TEN_CENTS)).toEqual([200, 200, 429])
    await stack.usageOf(client, 2)
    expect((await shown())[0]?.charged_usd).toBeGreaterThan(0.2)
    // 1,000 tokens at 1 USD a million, 10,000 at 2.
    await reprice(stack.pool, orderTo('our-model', TODAY))
    expect(await shown()).toMatchObject([{ spent_usd: 0.042, charged_usd: 0, left_usd: 0.108 }])
    await expect.poll(() => ask(TEN_CENTS), { interval: 200 }).toBe(200)
  })

  test('a session that reported something impossible: what it had cost by then', async () => {
    const sockets = new WebSocketServer({ noServer: true })
    upstream.server.once('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (accepted) => {
        const session = { type: 'realtime', model: 'gpt-4o-realtime-preview' }
        accepted.send(JSON.stringify({ type: 'session.created', session }))
        accepted.send(responseDone('resp_1', 5_000))
        accepted.send(responseDone('resp_2', -1))
        accepted.close()
      }),
    )
    await budget(5)
    const session = new WebSocket(
      `${stack.url.replace('http', 'ws')}/v1/realtime?model=gpt-4o-realtime-preview`,
      {
        headers: { authorization: `Bearer ${client.key}` },
      },
    )
    await once(session, 'close')
    await stack.usageOf(client, 1)
    const [call] = await stack.calls(client)
    expect(call).toMatchObject({ unpriced_reason: null, usage_source: 'reported' })
    const [limit] = await shown()
    // 5,000 tokens of sound at 80 USD a million.
    expect(Number(limit?.spent_usd)).toBeGreaterThanOrEqual(0.4)
  })

  test('while a path that is not read is refused before that', async () => {
    upstream.answer(withoutUsage)
    await budget(0.5)
    expect(await askTimes(3, TEN_CENTS, '/v1/unread')).toEqual([403, 403, 403])
    // Their bodies are read for the objects that they name, and have a model with a price.
    expect(await askTimes(1, TEN_CENTS, '/v1/threads/thread_1234567/runs')).toEqual([403])
    expect(await askTimes(1, TEN_CENTS, '/v1/threads/runs')).toEqual([403])
    expect(upstream.requests).toEqual([])
  })

  test('and not for one that was refused, failed, or has a cost', async () => {
    await budget(0.5)
    upstream.answer((_request, response) => json(response, 400, { error: { message: 'no' } }))
    expect(await askTimes(4, TEN_CENTS)).toEqual([400, 400, 400, 400])
    upstream.answer((_request, response) => json(response, 500, { error: { message: 'no' } }))
    expect(await askTimes(4, TEN_CENTS)).toEqual([500, 500, 500, 500])
    upstream.answer((_request, response) => void response.destroy())
    expect(await askTimes(4, TEN_CENTS)).toEqual([502, 502, 502, 502])
    upstream.answer(chatAnswer)
    expect(await askTimes(4, TEN_CENTS)).toEqual([200, 200, 200, 200])
    const { cost_usd: cost } = await stack.usageOf(client, 16)
    expect(await shown()).toMatchObject([{ spent_usd: cost, charged_usd: 0 }])
  })
})

test('tokens a minute keep what a call without figures had taken', async () => {
  upstream.answer(undecodable)
  await limit({ kind: 'tokens', amount: 25_000n })
  expect(await askTimes(4, TEN_CENTS)).toEqual([200, 200, 429, 429])
})
