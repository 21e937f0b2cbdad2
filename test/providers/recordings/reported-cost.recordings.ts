import { expect, test } from 'vitest'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import { entryOf } from '../../../src/providers/registry.ts'
import { dialectOf } from './dialect-of.ts'
import { loadRecordings, type Recording } from './recordings.ts'

const recordings = loadRecordings().filter(
  ({ provider, body }) =>
    entryOf(provider).reportsCost === true &&
    /"(?:cost|total_cost|cost_in_usd_ticks)":/.test(body.toString()),
)
const catalog = buildCatalog({ trustedUpstreams: ['router'] })

function observe({ provider, path, meta, body, headers }: Recording) {
  const { method, status, request_model: model = null, request_stream: stream = null } = meta
  const reader = dialectOf(provider, method, path)?.createReader(
    { method, path, model, stream },
    { status, headers },
  )
  reader?.push(body)
  return reader?.end() ?? null
}

test('where a provider whose figure is believed says what a call cost, it is read, and is the price', () => {
  const unread: string[] = []
  const unbelieved: string[] = []
  for (const recording of recordings) {
    const { id, provider, meta } = recording
    const observed = observe(recording)
    const reported = observed?.reportedCostPico ?? null
    if (observed === null || reported === null) {
      unread.push(id)
      continue
    }
    const priced = catalog.priceCall({
      ...observed,
      provider,
      upstream: 'router',
      clientName: null,
      requestedModel: meta.request_model ?? null,
      arrivedAtMs: Date.parse('2026-11-22T12:00:00Z'),
    })
    const isTaken =
      priced.kind === 'priced' &&
      (reported === 0n
        ? priced.costPico > 0n || !priced.priceId.includes('/reported')
        : priced.costPico === reported && priced.priceId.startsWith(`${provider}/reported`))
    if (!isTaken)
      unbelieved.push(`${id}: ${JSON.stringify(priced, (_, it) => (typeof it === 'bigint' ? `${it}` : it))}`)
  }
  expect(unread).toEqual([])
  expect(unbelieved).toEqual([])
  expect(recordings.length).toBeGreaterThan(10)
  console.log(`provider's own cost: ${recordings.length} of ${recordings.length} believed`)
})

test('a recorded call on a client’s own key is never free', () => {
  const own = recordings.filter(({ body }) => /"is_byok":\s*true/.test(body.toString()))
  for (const recording of own) expect(observe(recording)?.reportedCostPico, recording.id).toBeGreaterThan(0n)
  console.log(`own keys: ${own.length} of ${own.length} at a cost`)
})
