import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { beforeEach, expect, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import type { TestClient } from '../../support/servers/stack.ts'
import { json, type UpstreamHandler } from '../../support/upstream.ts'

/** Of gpt-3.5-turbo-instruct and gpt-4o: USD for a token. */
const PRICES = {
  'gpt-3.5-turbo-instruct': { input: 1.5e-6, output: 2e-6 },
  'gpt-4o': { input: 2.5e-6, output: 1e-5 },
} as const

const CODINGS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }

let client: TestClient
let number = 0
/** What the upstream has served, at list price. */
let servedUsd = 0
let servedTokens = 0

const { upstream, stack } = await startOwnStack()

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`multiplying ${number}`)
  servedUsd = 0
  servedTokens = 0
})

interface Asked {
  readonly model: keyof typeof PRICES
  readonly prompt?: readonly string[]
  readonly max_tokens: number
  readonly Max_Tokens?: number
}

/** Generates as much as it may, for each prompt; names of members in any letters, as Go reads them. */
const generous: UpstreamHandler = (request, response) => {
  const { model, prompt = [''], ...asked } = JSON.parse(request.body.toString()) as Asked
  const usage = {
    prompt_tokens: 2 * prompt.length,
    completion_tokens: (asked.Max_Tokens ?? asked.max_tokens) * prompt.length,
  }
  served(model, usage)
  json(response, 200, { model, choices: [], usage })
}

function served(
  model: keyof typeof PRICES,
  usage: { readonly prompt_tokens: number; readonly completion_tokens: number },
): void {
  const { input, output } = PRICES[model]
  servedUsd += usage.prompt_tokens * input + usage.completion_tokens * output
  servedTokens += usage.prompt_tokens + usage.completion_tokens
}

/** Draws as many pictures as the last `n` of the form says. */
const drawing: UpstreamHandler = (request, response) => {
  const asked = [...request.body.toString('latin1').matchAll(/name="n"\r\n\r\n(\d+)/g)].at(-1)?.[1]
  const data = Array.from({ length: Number(asked ?? 1) }, () => ({ url: 'https://pictures' }))
  servedUsd += 0.02 * data.length
  json(response, 200, { created: 1, data })
}

/** A form with these fields around a picture of 200 kB. */
async function edit(before: Record<string, string>, behind: Record<string, string>): Promise<number> {
  const form = new FormData()
  for (const [name, value] of Object.entries(before)) form.append(name, value)
  form.append('image', new Blob([Buffer.alloc(200_000, 7)]), 'a.png')
  for (const [name, value] of Object.entries(behind)) form.append(name, value)
  const headers = { authorization: `Bearer ${client.key}` }
  const answer = await fetch(`${stack.url}/v1/images/edits`, { method: 'POST', headers, body: form })
  await answer.arrayBuffer()
  return answer.status
}

async function ask(path: string, body: object): Promise<number> {
  const answer = await fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await answer.arrayBuffer()
  return answer.status
}

async function limit(order: Parameters<typeof setLimits>[2][number]): Promise<void> {
  await setLimits(stack.pool, { clientId: client.id, keyId: null, model: null }, [order], 'test')
  const shown = async () => (await stack.usage(client, '?include=limits')).limits
  await expect.poll(async () => (await shown())?.length).toBe(1)
}

const budget = (usd: number) =>
  limit({ kind: 'budget', per: 'day', isSoft: false, amount: BigInt(Math.round(usd * 1e12)) })

const PROMPTS = {
  model: 'gpt-3.5-turbo-instruct',
  prompt: Array.from({ length: 200 }, (_, at) => `Tell ${at}`),
  max_tokens: 256,
}

/** Of one call with these prompts. */
const PROMPTS_USD = 200 * (256 * 2e-6 + 2 * 1.5e-6)

test('a hundred calls of 200 prompts spend no more than a hard budget and one call', async () => {
  upstream.answer(generous)
  await budget(0.5)
  const statuses = await Promise.all(Array.from({ length: 100 }, () => ask('/v1/completions', PROMPTS)))
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(servedUsd).toBeGreaterThan(0.3)
  expect(servedUsd).toBeLessThanOrEqual(0.5 + PROMPTS_USD)
})

test('calls of 200 prompts take all of 20,000 tokens a minute', async () => {
  upstream.answer(generous)
  await limit({ kind: 'tokens', per: null, isSoft: false, amount: 20_000n })
  const statuses = await Promise.all(Array.from({ length: 20 }, () => ask('/v1/completions', PROMPTS)))
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(servedTokens).toBe(200 * 258)
})

test('of a bound in two spellings the larger is reserved', async () => {
  upstream.answer(generous)
  await budget(0.2)
  const body = { model: 'gpt-4o', messages: [], max_tokens: 1, Max_Tokens: 4_000 }
  const statuses = await Promise.all(Array.from({ length: 40 }, () => ask('/v1/chat/completions', body)))
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(servedUsd).toBeLessThanOrEqual(0.2 + 4_002 * 1e-5)
})

test.each(
  Object.entries(CODINGS),
)('an answer of spaces in %s is counted exactly, and charged', async (coding, encode) => {
  const usage = { prompt_tokens: 7, completion_tokens: 16_000, total_tokens: 16_007 }
  upstream.answer((_request, response) => {
    served('gpt-4o', usage)
    const message = { role: 'assistant', content: ' '.repeat(16_000 * 128) }
    const text = JSON.stringify({ model: 'gpt-4o', choices: [{ message, finish_reason: 'stop' }], usage })
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding })
    response.end(encode(text))
  })
  await budget(0.5)
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'spaces' }], max_tokens: 16_000 }
  const statuses: number[] = []
  let count = 0
  for (let calls = 0; calls < 15; calls += 1) {
    statuses.push(await ask('/v1/chat/completions', body))
    if (statuses.at(-1) !== 200) continue
    count += 1
    // The client has its answer before the gateway has read it, and until then what was reserved is held.
    await stack.usageOf(client, count)
  }
  expect(count).toBe(4)
  const { cost_usd: cost } = await stack.usageOf(client, count)
  expect(cost).toBeCloseTo(servedUsd, 9)
})

test.each([
  ['before', { model: 'dall-e-2', n: '10' }, {}],
  ['behind', { model: 'dall-e-2' }, { n: '10' }],
])('ten pictures are reserved that a form asks for %s its file', async (_place, before, behind) => {
  upstream.answer(drawing)
  await budget(0.5)
  const statuses = await Promise.all(Array.from({ length: 30 }, () => edit(before, behind)))
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(servedUsd).toBeGreaterThan(0.3)
  expect(servedUsd).toBeLessThanOrEqual(0.7 + 1e-9)
})

test('a form that asks for more behind its file than before it goes no further under a budget', async () => {
  upstream.answer(drawing)
  expect(await edit({ model: 'dall-e-2', n: '1' }, { n: '9' })).toBe(200)
  await budget(5)
  expect(await edit({ model: 'dall-e-2', n: '1' }, { n: '9' })).toBe(400)
  expect(await edit({ model: 'dall-e-2', n: '2' }, { n: '1' })).toBe(200)
  expect(await edit({ model: 'dall-e-2' }, { n: '11' })).toBe(400)
})

test('a form that names a second model behind its file goes no further under a budget that has to know it', async () => {
  upstream.answer(drawing)
  const two = () => edit({ model: 'gpt-image-1-mini' }, { model: 'gpt-image-1' })
  expect(await two()).toBe(200)
  await budget(5)
  const before = servedUsd
  expect(await two()).toBe(400)
  expect(servedUsd).toBe(before)
  expect(await edit({ model: 'dall-e-2', n: '1' }, { user: 'ann' })).toBe(200)
  expect(await edit({ model: 'dall-e-2', n: '1' }, { 'fallbacks[]': 'gpt-image-1' })).toBe(400)
})
