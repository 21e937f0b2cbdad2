import { expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import { catalogDocumentOf } from '#prices/catalog-document.ts'
import { readModelsDevCatalog } from '#prices/models-dev-catalog.ts'
import { judgeRefresh } from '../../../src/pricing/history/catalog-refresh.ts'

const text = { input: ['text'], output: ['text'] }

test('what a release bundles takes a change of one model, and nothing else of it changes', () => {
  const before = bundledText('models.dev')
  const known = catalogDocumentOf(JSON.parse(before))
  const openai = known.find(({ id }) => id === 'openai')?.models ?? []
  const inTheirForm = (models: typeof openai, changed: string) =>
    Object.fromEntries(
      models.flatMap(({ id, prices: [entry] }) => {
        const { input_mtok: input, output_mtok: output, ...caches } = entry?.prices ?? {}
        if (typeof input !== 'number' || typeof output !== 'number') return []
        const { cache_read_mtok: cache_read, cache_write_mtok: cache_write } = caches
        const cost = { input: id === changed ? input / 2 : input, output, cache_read, cache_write }
        return [[id, { modalities: text, cost }]]
      }),
    )
  // A third of what is known, so that the list is believed.
  const theirs: Record<string, string> = { aws: 'amazon-bedrock', openrouter: 'openrouter', openai: 'openai' }
  const lists = known.flatMap(({ id, models }) => {
    const name = theirs[id]
    return name === undefined ? [] : [[name, { models: inTheirForm(models, 'gpt-4o') }] as const]
  })
  const offered = readModelsDevCatalog(JSON.stringify(Object.fromEntries(lists)), known).text
  const nowMs = Date.parse('2026-12-01T12:00:00Z')
  const judged = judgeRefresh({ text: before, dataDay: null, knownSince: '2026-11-10' }, offered ?? '', {
    nowMs,
  })
  if (judged.kind !== 'read') throw new Error(judged.problems.join())
  expect([judged.doubts, judged.held]).toEqual([[], []])
  const inputs = judged.changes.filter(({ what }) => what === 'input_mtok')
  expect(inputs).toEqual([
    { provider: 'openai', model: 'gpt-4o', what: 'input_mtok', before: '2.5', after: '1.25' },
  ])
  // The same list again finds nothing new.
  const inForce = { text: judged.text ?? '', dataDay: judged.dataDay, knownSince: '2026-12-01' }
  const after = catalogDocumentOf(JSON.parse(inForce.text))
  const again = readModelsDevCatalog(JSON.stringify(Object.fromEntries(lists)), after).text ?? ''
  expect(judgeRefresh(inForce, again, { nowMs: nowMs + 86_400_000 })).toMatchObject({
    kind: 'read',
    text: null,
  })
})
