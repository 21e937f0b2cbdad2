import { expect, test } from 'vitest'
import { createJobSettler } from '../../../src/gateway/jobs/job-settler.ts'
import { buildPricing } from '../../../src/gateway/recording/pricing.ts'
import { openPool, type Upstream } from '../../../src/gateway/routing/upstream-table.ts'
import type { Catalog } from '../../../src/pricing/catalog/catalog.ts'
import type { Postgres } from '../../../src/store/connection/postgres.ts'
import { json, startUpstream } from '../../support/upstream.ts'

const NO_PRICES = {
  priceCall: ({ model }: { readonly model: string | null }) => ({
    kind: 'unpriced',
    reason: 'unknown_model',
    model,
  }),
  knowsModel: () => false,
  listsModel: () => false,
} as unknown as Catalog

test('what many calls at once would end is fetched once, and each of them learns what it used', async () => {
  const server = await startUpstream((_request, response) => {
    const usage = { input_tokens: 10, output_tokens: 2, total_tokens: 12 }
    json(response, 200, { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt-4.1', usage })
  })
  const pool = openPool(server.url, { headersTimeoutMs: 60_000, idleTimeoutMs: 60_000 })
  try {
    const job = {
      upstream: 'openai',
      foldedId: 'resp_1',
      id: 'resp_1',
      kind: 'response',
      path: '/v1/responses',
      createdAtMs: 0,
      clientName: null,
    }
    const settler = createJobSettler({
      objects: { newJob: () => job, newBatches: () => [] },
      pricing: buildPricing(NO_PRICES, { has: () => false }),
      pool: { query: async () => ({ rows: [] }) } as unknown as Postgres,
    })
    const ended = { ids: ['resp_1'], below: '', isDeleted: true, filePath: null }
    const settle = () => settler.settle(upstreamAt(server.url, pool), ended, 'cli_1')
    const all = await Promise.all(Array.from({ length: 50 }, settle))
    for (const found of all)
      expect(found).toMatchObject({ uses: [{ id: 'resp_1', usage: { inputTokens: 10, outputTokens: 2 } }] })
    expect(server.requests).toHaveLength(1)
    await settle()
    expect(server.requests).toHaveLength(2)
  } finally {
    await pool.destroy()
    await server.close()
  }
})

function upstreamAt(origin: string, pool: Upstream['pool']): Upstream {
  return {
    name: 'openai',
    origin,
    host: new URL(origin).host,
    basePath: '',
    provider: 'openai',
    credential: null,
    fetched: null,
    takesClients: false,
    models: null,
    modelsPath: null,
    pathPrefix: null,
    includeUsage: 'auto',
    objects: 'owned',
    account: ['openai'],
    mountedAt: '',
    publicUrl: null,
    ownsOrigins: false,
    pool,
  }
}
