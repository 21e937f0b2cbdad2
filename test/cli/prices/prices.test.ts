import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { json, run } from '../command-line.ts'

let folder: string
let env: Environment

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-prices-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(async () => {
  env = { TALLYGATE_CONFIG: join(folder, 'config.yaml'), TALLYGATE_DATA_DIR: join(folder, 'data') }
  await rm(join(folder, 'data'), { recursive: true, force: true })
  await writeConfig(`
upstreams:
  - { name: openai, url: 'https://api.openai.com', api_key_env: NOT_SET_HERE }
  - { name: gemini, url: 'https://generativelanguage.googleapis.com' }
  - { name: local, url: 'http://127.0.0.1:8000', provider: vllm }
prices:
  - { model: 'llama-3*', provider: vllm, input: '0', output: '0' }
  - { model: gpt-4o, upstream: openai, service_tier: flex, input: '1.25', output: '5', from: 2026-01-01 }
markups:
  - { client: acme, factor: '1.2' }
`)
})

async function writeConfig(text: string): Promise<void> {
  await writeFile(join(folder, 'config.yaml'), text)
}

type Shown = { prices: { [field: string]: unknown }[] }

async function show(...args: string[]): Promise<Shown['prices']> {
  return ((await json(env, 'prices', 'show', ...args)) as Shown).prices
}

test('at a host of Bedrock outside of the United States only names that say a region, or have a price there, have one', async () => {
  const shown = async (host: string, ...asked: string[]) => {
    const { code, out } = await run(
      { UPSTREAM_URL: `https://${host}`, TALLYGATE_DATA_DIR: '/nonexistent' },
      ...['prices', 'show', ...asked],
    )
    return code === 0 ? out : null
  }
  const bare = 'amazon.nova-pro-v1:0'
  expect(await shown('bedrock-runtime.eu-central-1.amazonaws.com', bare)).toBeNull()
  expect(await shown('bedrock-runtime.us-gov-west-1.amazonaws.com', bare)).toContain('0.96')
  for (const region of ['us-east-1', 'us-west-2']) {
    expect(await shown(`bedrock-runtime.${region}.amazonaws.com`, bare)).toContain(bare)
  }
  const profile = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
  expect(await shown('bedrock-runtime.eu-central-1.amazonaws.com', profile)).toContain(profile)
})

test('a model that is known to have no price is said to have none with the reason', async () => {
  const { code, err } = await run(
    { TALLYGATE_DATA_DIR: '/nonexistent' },
    ...['prices', 'show', 'gemma-4-26b-a4b-it', '--provider', 'gemini'],
  )
  expect(code).toBe(1)
  expect(err).toContain('as is known: free at one source')
})

test('a price is shown with its rates, its source, and each tier that has one of its own', async () => {
  expect(await show('gpt-4o', '--provider', 'openai', '--day', '2026-11-28')).toMatchObject([
    {
      upstream: 'openai',
      provider: 'openai',
      source: expect.stringMatching(/^genai-prices@/),
      line: null,
      service_tier: null,
      factor: '1',
      rates: { input: '2.5', cached_input: '1.25', output: '10' },
    },
    { service_tier: 'batch', rates: { input: '1.25', cached_input: '0.625', output: '5' } },
    {
      source: 'yaml',
      line: 8,
      from: '2026-01-01',
      service_tier: 'flex',
      rates: { input: '1.25', output: '5' },
    },
    { service_tier: 'priority', rates: { input: '4.25', cached_input: '2.125', output: '17' } },
    { service_tier: 'fast' },
    { service_tier: 'search_preview' },
  ])
  const before = await run(env, 'prices', 'show', 'gpt-4o', '--provider', 'openai', '--day', '2025-12-31')
  expect([before.code, before.err]).toEqual([
    1,
    expect.stringContaining('no price of gpt-4o is known for 2025-12-31'),
  ])
  const { out } = await run(env, 'prices', 'show', 'gpt-4o', '--provider', 'openai')
  expect(out).toMatch(/^openai, openai: tier flex\n {2}input +1\.25 per M tokens$/m)
  expect(out).toContain('from yaml, line 8 of the configuration: */gpt-4o')
})

test('prices by size of prompt and by hour are each shown', async () => {
  const standard = (await show('gemini-2.5-pro', '--provider', 'gemini')).filter(
    ({ service_tier: tier }) => tier === null,
  )
  expect(standard.map(({ context }) => context)).toEqual([
    { above: 0, up_to: 200_000 },
    { above: 200_000, up_to: null },
  ])
  const onDay = async (day: string) =>
    (await show('deepseek-v4-pro', '--provider', 'deepseek', '--day', day)).map(({ hours }) => hours)
  // A Friday and a Saturday.
  expect(await onDay('2026-11-20')).toEqual(['other', '01:00-04:00', '06:00-10:00'])
  expect(await onDay('2026-11-21')).toEqual(['other'])
})

test('without a provider, every upstream that has a price for the model is shown; free is a price', async () => {
  expect(await show('llama-3-8b')).toMatchObject([
    { upstream: 'local', provider: 'vllm', rates: { input: '0', output: '0' } },
  ])
})

test("a client's markup is in its prices, and said", async () => {
  expect(await show('gpt-4o', '--provider', 'openai', '--client', 'acme')).toMatchObject([
    { factor: '1.2', service_tier: null, rates: { input: '3', output: '12' } },
    { factor: '1.2', service_tier: 'batch', rates: { input: '1.5', output: '6' } },
    { factor: '1.2', service_tier: 'flex', rates: { input: '1.5' } },
    { factor: '1.2', service_tier: 'priority', rates: { input: '5.1' } },
    { factor: '1.2', service_tier: 'fast', rates: { input: '5.1' } },
    { factor: '1.2', service_tier: 'search_preview' },
  ])
})

test('a model without a price is reported, with what to do', async () => {
  const { code, err } = await run(env, 'prices', 'show', 'our-model')
  expect(code).toBe(1)
  expect(err).toContain('our-model has no price (provider openai, gemini, vllm): its calls are unpriced')
  expect((await run(env, 'prices', 'show', 'x', '--provider', 'nobody')).code).toBe(2)
})

test('all that is wrong with prices is reported together, by line, and nothing is shown', async () => {
  await writeConfig(`
prices:
  - { model: a, input: '1' }
  - { model: a, input: '2' }
  - { input: '2' }
  - { model: b, input: '-2', output: 0.1.2, colour: '3' }
markups:
  - { client: acme, upstream: nowhere, factor: x }
`)
  const { code, out, err } = await run(env, 'prices', 'show', 'gpt-4o')
  expect([code, out]).toEqual([1, ''])
  for (const problem of [
    'config.yaml:4: prices: prices the same calls from the same day as line 3',
    'config.yaml:5: prices: has no model',
    'config.yaml:6: prices: input -2: is negative',
    'config.yaml:6: prices: colour: is not a field of a price',
    'config.yaml:8: markups: no such upstream: nowhere',
  ]) {
    expect(err).toContain(problem)
  }
})

test('a catalog of an older release that is broken is never passed over', async () => {
  await mkdir(join(folder, 'data'))
  await writeFile(join(folder, 'data/catalog.json'), '[{')
  expect((await run(env, 'prices', 'show', 'gpt-4o')).err).toContain('catalog.json: catalog: is not JSON')
})
