import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { saysItsCost } from '../../../src/config/yaml/upstream.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { BEDROCK } from '../support/costly/bedrock.ts'
import type { CostlyCall, CostlyEndpoint } from '../support/costly/costly-call.ts'
import { GOOGLE } from '../support/costly/google.ts'
import { OPENAI } from '../support/costly/openai.ts'
import { OPENAI_JOBS } from '../support/costly/openai-jobs.ts'
import { OTHERS } from '../support/costly/others.ts'

const ENDPOINTS: readonly CostlyEndpoint[] = [...OPENAI, ...OPENAI_JOBS, ...GOOGLE, ...BEDROCK, ...OTHERS]

const HOSTS: Readonly<Record<string, string>> = { xai: 'api.x.ai', perplexity: 'api.perplexity.ai' }

const PICO_DIGITS = 12

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-costly-'))
  upstream = await startUpstream()
  const providers = [...new Set(ENDPOINTS.map(({ provider }) => provider))]
  const entries = providers.map(
    // Whether a provider's own figure is believed is by its host, which cannot be called from here.
    (provider) =>
      `  - { name: ${provider}, url: '${upstream.url}', provider: ${provider}, path_prefix: /at-${provider}, trust_reported_cost: ${saysItsCost(HOSTS[provider] ?? '')} }`,
  )
  const file = join(folder, 'tallygate.yaml')
  await writeFile(file, `upstreams:\n${entries.join('\n')}\n`)
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

async function send(
  { provider, truth }: CostlyEndpoint,
  { method, path, body, status = 200, headers, answer }: CostlyCall,
) {
  upstream.answer((_request, response) => {
    if (typeof answer === 'string' || Buffer.isBuffer(answer)) response.writeHead(status, headers).end(answer)
    else {
      for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value)
      json(response, status, answer)
    }
  })
  const got = await fetch(`${stack.url}/at-${provider}${path}`, {
    method,
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  await got.arrayBuffer()
  expect(got.status, `${method} ${path}`).toBe('refused' in truth ? truth.refused : status)
}

/** Decimal dollars as integer pico-dollars. */
function pico(usd: string): bigint {
  const [whole = '', fraction = ''] = usd.split('.')
  return BigInt(whole + fraction.padEnd(PICO_DIGITS, '0'))
}

/** What is wrong with the records of an endpoint's calls; '' when nothing is. */
function wrongWith({ truth, calls }: CostlyEndpoint, rows: readonly Record<string, unknown>[]): string {
  const costs = rows.map(({ cost_pico, unpriced_reason }) => `${cost_pico ?? unpriced_reason}`).join(', ')
  const isPartly = rows.some(({ partly_unpriced }) => partly_unpriced === true)
  if (isPartly !== 'partlyUsd' in truth) return `${isPartly ? 'partly' : 'wholly'} priced: ${costs}`
  if ('usd' in truth || 'partlyUsd' in truth) {
    const sum = rows.reduce((total, { cost_pico }) => total + BigInt(`${cost_pico ?? 0}`), 0n)
    const wanted = pico('usd' in truth ? truth.usd : truth.partlyUsd)
    return sum === wanted ? '' : `${costs}, not ${wanted}`
  }
  if ('refused' in truth) return rows.length === 0 ? '' : costs
  // What orders the work has to say so; the fetches after it cost nothing themselves.
  const isSaid = rows.every(
    ({ unpriced_reason }, index) =>
      calls[index]?.method === 'GET' ||
      calls[index]?.isFree === true ||
      truth.unpriced.some((reason) => reason === unpriced_reason),
  )
  return isSaid ? '' : `${costs}, not ${truth.unpriced.join(' or ')}`
}

test.each(
  ENDPOINTS,
)('$name costs what its invoice says, or is never said to cost nothing', async (endpoint) => {
  const { name, calls, truth } = endpoint
  client = await stack.addClient(name.replace(/[^a-z0-9]+/gi, '-').toLowerCase())
  upstream.requests.length = 0
  for (const call of calls) await send(endpoint, call)
  if ('refused' in truth) {
    expect(upstream.requests).toEqual([])
    return
  }
  await stack.usageOf(client, calls.length)
  expect(wrongWith(endpoint, await stack.calls(client))).toBe('')
})
