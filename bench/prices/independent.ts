import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { readAzureCatalog } from '#prices/azure/azure-catalog.ts'
import { getWheel } from '../../scripts/prices/archives.ts'
import { buildCatalog, type Catalog } from '../../src/pricing/catalog/catalog.ts'
import { bundledEntries } from '../../src/pricing/sources/catalog-bundle.ts'
import { parseCatalog } from '../../src/pricing/sources/catalog-parse.ts'
import { reasonOf } from './independent-reasons.ts'
import { isSame } from './judge.ts'

/** Lists that the bundle has nothing of, as their wheels have them; their code is not run. */
const PINNED_APART = {
  modelPrices: { name: 'model-prices', version: '0.0.5', file: 'model_prices/snapshot.json' },
  azure: { name: 'azure-genai-prices', version: '0.2.0', file: 'azure_genai_prices/data/snapshot.json' },
} as const

/** model-prices' names of providers, and ours. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['google', 'gemini'],
  ['xai', 'xai'],
  ['mistral', 'mistral'],
  ['deepseek', 'deepseek'],
  ['groq', 'groq'],
  ['cohere', 'cohere'],
  ['moonshotai', 'moonshotai'],
  ['zai', 'zai'],
  ['perplexity', 'perplexity'],
  ['cerebras', 'cerebras'],
])

const ratesShape = z.looseObject({
  input: z.number().optional(),
  output: z.number().optional(),
  cache_read: z.number().optional(),
})
const pricesShape = z.looseObject({
  updated_at: z.string(),
  prices: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({ standard: z.array(z.looseObject({ rates: ratesShape })).optional() }),
    ),
  ),
})
const azureShape = z.looseObject({
  fetched_at: z.string(),
  items: z.array(z.looseObject({ regions: z.array(z.string()) })),
})

type Rates = z.infer<typeof ratesShape>

interface Asked {
  readonly list: string
  readonly provider: string
  readonly model: string
  readonly tier: string | null
  readonly rates: Rates
}

/** What lists that the bundle has nothing of say beside the catalog, asked without a gateway: a line each, and what differs. */
export async function independentText(atMs: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-independent-'))
  const read = async ({ name, version, file }: (typeof PINNED_APART)['azure' | 'modelPrices']) =>
    JSON.parse(await readFile(join(getWheel(folder, name, version).folder, file), 'utf8')) as unknown
  const modelPrices = pricesShape.parse(await read(PINNED_APART.modelPrices))
  const azure = azureShape.parse(await read(PINNED_APART.azure))
  const catalog = buildCatalog()
  const lists = [
    {
      title: `model-prices 0.0.5 of ${modelPrices.updated_at.slice(0, 10)}: makers' pages and the history of models.dev, not in the bundle`,
      asked: ofModelPrices(modelPrices),
    },
    {
      title: `azure-genai-prices 0.2.0 of ${azure.fetched_at.slice(0, 10)}: Azure's own meters, not in the bundle, read by the product's parser`,
      asked: ofAzure(azure),
    },
  ]
  return [
    'Lists that are independent of the bundle',
    ...lists.flatMap(({ title, asked }) => [`  ${title}`, ...judged(catalog, asked, atMs)]),
    '',
  ].join('\n')
}

function ofModelPrices({ prices }: z.infer<typeof pricesShape>): Asked[] {
  return Object.entries(prices).flatMap(([theirs, models]) => {
    const provider = PROVIDERS.get(theirs)
    return Object.entries(models).flatMap(([model, { standard }]): Asked[] => {
      const rates = standard?.at(-1)?.rates
      return provider === undefined || rates === undefined
        ? []
        : [{ list: 'model-prices', provider, model, tier: null, rates }]
    })
  })
}

function ofAzure({ items }: z.infer<typeof azureShape>): Asked[] {
  const rows = items.flatMap(({ regions, ...item }) =>
    regions.map((armRegionName) => ({ ...item, armRegionName })),
  )
  const known = (['genai-prices', 'models.dev', 'litellm'] as const).flatMap((kind) =>
    ['openai', 'azure'].flatMap(
      (id) =>
        bundledEntries(kind)
          .providers.get(id)
          ?.models.map((model) => model.id) ?? [],
    ),
  )
  const { text } = readAzureCatalog(JSON.stringify({ Items: rows }), known)
  const { entries } = parseCatalog(JSON.parse(text ?? '[]'), 'azure')
  const dollars = (byKey: ReadonlyMap<string, { base: { digits: bigint; scale: number } }>, key: string) => {
    const base = byKey.get(key)?.base
    return base === undefined ? undefined : Number(base.digits) / 10 ** base.scale
  }
  return (entries?.providers.get('azure')?.models ?? []).flatMap(({ id, prices, variants = [] }) =>
    [{ tier: null, byKey: prices.at(-1)?.byKey ?? new Map() }, ...variants].map(({ tier, byKey }) => ({
      list: 'azure',
      provider: 'azure-openai',
      model: id,
      tier,
      rates: {
        input: dollars(byKey, 'input_mtok'),
        output: dollars(byKey, 'output_mtok'),
        cache_read: dollars(byKey, 'cache_read_mtok'),
      },
    })),
  )
}

const CLASSES = [
  ['input', 'input'],
  ['output', 'output'],
  ['cache_read', 'cacheRead'],
] as const

function judged(catalog: Catalog, asked: readonly Asked[], atMs: number): string[] {
  const counts = { right: 0, wrong: 0, unpriced: 0 }
  const wrong: string[] = []
  for (const { provider, model, tier, rates } of asked) {
    const query = { provider, upstream: provider, clientName: null, model, serviceTier: tier, atMs }
    const ours = catalog.findPrices(query)?.prices.tiers[0]?.usual.definition.rates
    for (const [theirs, rate] of CLASSES) {
      const usd = rates[theirs]
      if (usd === undefined || usd === 0) continue
      const pico = ours?.[rate] ?? (rate === 'cacheRead' ? ours?.input : undefined)
      if (pico === undefined) counts.unpriced += 1
      else if (isSame(Number(pico) / 1e6, usd)) counts.right += 1
      else {
        counts.wrong += 1
        wrong.push(`${provider}/${model} ${tier ?? ''} ${rate}: ours ${Number(pico) / 1e6}, theirs ${usd}`)
      }
    }
  }
  const byReason = Map.groupBy(wrong, (line) => reasonOf(line) ?? 'not looked into')
  return [
    `    right ${counts.right}  other ${counts.wrong}  unpriced ${counts.unpriced}`,
    ...[...byReason].flatMap(([why, lines]) => [
      `    ${lines.length}: ${why}`,
      ...lines.map((line) => `      ${line}`),
    ]),
  ]
}
