import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadGatewayConfig } from '../../src/config.ts'
import { buildPriceConfiguration, nameConfiguration } from '../../src/domain/price-configuration.ts'
import { selectGatewayPrices, tellGatewayPrices } from '../../src/store/gateway-prices.ts'
import { startStack, type TestClient, type TestStack } from '../support/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'
import { run } from './command-line.ts'

const TODAY = new Date().toISOString().slice(0, 10)
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let folder: string

const writeConfig = (factor: string) =>
  writeFile(
    join(folder, 'config.yaml'),
    `upstreams: [{ name: only, url: '${upstream.url}', provider: openai }]
markups: [{ client: c1, factor: '${factor}' }]
`,
  )

beforeAll(async () => {
  upstream = await startUpstream()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-prices-'))
  await writeConfig('1.5')
  stack = await startStack('', {
    env: { UPSTREAM_URL: '', UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: join(folder, 'config.yaml') },
  })
  client = await stack.addClient('c1')
})
afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

const told = async () => (await selectGatewayPrices(stack.pool)).map(({ configuration }) => configuration)
const repricing = ['prices', 'reprice', '--model', 'gpt-4o-mini', '--since', TODAY, '--reason', 'fix']
const elsewhere = () => ({ DATABASE_URL: stack.env.DATABASE_URL, TALLYGATE_DATA_DIR: join(folder, 'none') })
const corrections = async () =>
  (await stack.pool.query('select count(*)::int as n from tallygate.adjustments')).rows[0]?.n

test('a repricing by other prices than the gateways have is refused, both are named, and nothing is written', async () => {
  await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
  })
  const { cost_usd: cost } = await stack.usageOf(client, 1)
  await expect.poll(told, { timeout: 10_000 }).toHaveLength(1)

  const { code, err } = await run(elsewhere(), ...repricing)
  expect(code).toBe(1)
  const config = loadGatewayConfig(stack.env)
  const own = buildPriceConfiguration('genai-prices@0.1.8', config.priceSettings)
  const without = buildPriceConfiguration('genai-prices@0.1.8', { prices: [], markups: [], upstreams: [] })
  expect(err).toContain(`prices by ${nameConfiguration(own)}`)
  expect(err).toContain(`this command by ${nameConfiguration(without)}`)
  expect(err).toContain('nothing is changed')
  expect(await corrections()).toBe(0)
  expect((await stack.usage(client)).cost_usd).toBe(cost)
  // The same with the gateways' configuration: nothing to correct.
  expect(await run(stack.env, ...repricing, '--dry-run')).toMatchObject({ code: 0 })
})

test('it is done by other prices where that is said to be wanted', async () => {
  const wanted = await run(elsewhere(), ...repricing, '--config-differs-on-purpose', '--dry-run')
  expect(wanted).toMatchObject({ code: 0, err: '' })
})

test('a gateway tells what it prices by again when its configuration changes', async () => {
  const [before] = await told()
  await writeConfig('1.7')
  stack.gateway.reload(loadGatewayConfig(stack.env))
  await expect.poll(async () => (await told())[0]?.hash, { timeout: 10_000 }).not.toBe(before?.hash)
  expect((await told())[0]?.settings.markups).toEqual([{ line: 1, client: 'c1', factor: '1.7' }])
})

test('gateways that do not price alike are named by doctor; one that stopped long ago is not asked', async () => {
  const other = buildPriceConfiguration('genai-prices@0.0.1', { prices: [], markups: [], upstreams: [] })
  await tellGatewayPrices(stack.pool, 'elsewhere:1', other)
  const { out } = await run(stack.env, 'doctor')
  expect(out).toContain('gateways do not price alike')
  expect(out).toContain(`elsewhere:1 by ${nameConfiguration(other)}`)
  await stack.pool.query(
    "update tallygate.gateway_prices set at = now() - interval '1 hour' where gateway = 'elsewhere:1'",
  )
  expect((await run(stack.env, 'doctor')).out).toContain('every gateway prices by')
})

test('two configurations that price alike have one name, however they are written and whatever upstreams they list', () => {
  const written = (upstreams: string[], ...fields: [string, string][]) =>
    buildPriceConfiguration('x', {
      prices: [{ line: 1, ...Object.fromEntries(fields) }],
      markups: [],
      upstreams,
    }).hash
  const one = written(['a'], ['model', 'm'], ['input', '1'])
  expect(written(['a', 'b'], ['input', '1'], ['model', 'm'])).toBe(one)
  expect(written(['a'], ['input', '2'], ['model', 'm'])).not.toBe(one)
})
