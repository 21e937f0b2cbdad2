import { z } from 'zod'
import { decimalOf, decimalText, multiply } from '../decimal.ts'
import { joinPlace } from '../tier-names.ts'
import { type AzureMeter, azureNameOf, LONG_PROMPT_TOKENS, readAzureMeter } from './azure-meters.ts'

/** The longest known has 50 characters; looking at one takes the square of its length. */
const LONGEST_METER_NAME = 200

/** A row of Azure's retail price list: https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices. */
const itemShape = z.looseObject({
  currencyCode: z.string().optional(),
  retailPrice: z.number().nonnegative(),
  armRegionName: z.string(),
  effectiveStartDate: z.iso.datetime({ offset: true }),
  meterName: z.string().max(LONGEST_METER_NAME),
  productName: z.string(),
  unitOfMeasure: z.string(),
  type: z.string().optional(),
})
const pageShape = z.looseObject({ Items: z.array(z.unknown()) })

type Item = z.infer<typeof itemShape>
type Key = AzureMeter['key']

/** What is read of Azure's list. */
export interface AzureReading {
  /** In the form of genai-prices' `data.json`; `null`: it cannot be read. */
  readonly text: string | null
  readonly problems: readonly string[]
  /** Models of the list that no other source knows by such a name. */
  readonly unknown: readonly string[]
}

/** Regions that are asked for, and the data zone that each stands for. Global prices are the same in all. */
export const AZURE_REGIONS: ReadonlyMap<string, string> = new Map([
  ['eastus2', 'data-zone-us'],
  ['swedencentral', 'data-zone-eu'],
  ['japaneast', 'data-zone-apac'],
])
const [HOME = ''] = AZURE_REGIONS.keys()

const PER_MILLION: ReadonlyMap<string, number> = new Map([
  ['1K', 1_000],
  ['1M', 1],
])
/** Sold by other words than a model's name, or in other forms than text. */
const NOT_TEXT = /media|\bft\b|free meter/i

/**
 * Reads pages of the list, as one object with the `Items` of all. A meter is taken where its name, spelled out, is that of a
 * model that another source has; all others are passed over, as a guess would be a wrong price.
 *
 * @param knownModels Names of models by which Azure's customers call them.
 */
export function readAzureCatalog(text: string, knownModels: Iterable<string>): AzureReading {
  const page = pageShape.safeParse(parsed(text))
  if (!page.success) return { text: null, problems: ['is not a page of the retail price list'], unknown: [] }
  const items = page.data.Items.flatMap((item) => {
    const read = itemShape.safeParse(item)
    return read.success && isTaken(read.data) ? [read.data] : []
  })
  if (items.length === 0) {
    return { text: null, problems: ['has no price of tokens in US dollars'], unknown: [] }
  }
  const names = namesByMeter(knownModels)
  const byModel = new Map<string, Cells>()
  const unknown = new Set<string>()
  for (const item of items) {
    const meter = readAzureMeter(item.meterName)
    if (meter === null) continue
    const id = nameOf(names, meter)
    if (id === null) {
      unknown.add(meter.name)
      continue
    }
    const cells = byModel.get(id) ?? new Map<string, Cell>()
    byModel.set(id, cells)
    for (const place of placesOf(meter, item.armRegionName)) addPrice(cells, meter, place, item)
  }
  const models = [...byModel]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([id, cells]) => modelOf(id, cells))
  return {
    text: JSON.stringify([{ id: 'azure', models }]),
    problems: models.length === 0 ? ['has no price of a model that is known'] : [],
    unknown: [...unknown].sort(),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isTaken({ currencyCode = 'USD', productName, type = 'Consumption', ...item }: Item): boolean {
  return (
    currencyCode === 'USD' &&
    type === 'Consumption' &&
    productName.startsWith('Azure OpenAI') &&
    !NOT_TEXT.test(productName) &&
    item.retailPrice > 0 &&
    PER_MILLION.has(item.unitOfMeasure) &&
    AZURE_REGIONS.has(item.armRegionName)
  )
}

/** Names as calls have them by how a meter would write them, with the revision after a `|`. */
function namesByMeter(knownModels: Iterable<string>): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const model of knownModels) {
    const [, bare = model, month = '', day = ''] =
      /^(.*)-20[0-9]{2}-([0-9]{2})-([0-9]{2})$/.exec(model.toLowerCase()) ?? []
    names.set(`${azureNameOf(bare)}|${month}${day}`, model.toLowerCase())
  }
  return names
}

/** A meter of one revision has the price of that alone. Those of newer models say no maker's word. */
function nameOf(names: ReadonlyMap<string, string>, { name, revision }: AzureMeter): string | null {
  const key = `|${revision ?? ''}`
  return names.get(`${name}${key}`) ?? names.get(`gpt${name}${key}`) ?? null
}

function placesOf({ place }: AzureMeter, region: string): readonly (string | null)[] {
  if (place === 'global') return [null]
  if (place === 'regional') return region === HOME ? ['regional'] : []
  return [AZURE_REGIONS.get(region) ?? null].filter((zone) => zone !== null)
}

/** The prices of one class at a tier and a place, by the day that they hold from. */
interface Cell {
  readonly key: Key
  readonly tier: string | null
  readonly isLong: boolean
  readonly byDay: Map<string, number>
  /** Two meters say two prices since the same day. */
  isDisputed: boolean
}

type Cells = Map<string, Cell>

function addPrice(cells: Cells, meter: AzureMeter, place: string | null, item: Item): void {
  const tier = joinPlace(meter.tier, place)
  const name = `${meter.key}|${tier}|${meter.isLong}`
  const cell = cells.get(name) ?? {
    key: meter.key,
    tier,
    isLong: meter.isLong,
    byDay: new Map(),
    isDisputed: false,
  }
  cells.set(name, cell)
  const day = item.effectiveStartDate.slice(0, 10)
  const dollars = Number(
    decimalText(multiply(decimalOf(item.retailPrice), decimalOf(PER_MILLION.get(item.unitOfMeasure) ?? 1))),
  )
  const other = cell.byDay.get(day)
  // A region that came later has the price of the others from its own day.
  if (other !== undefined && other !== dollars) cell.isDisputed = true
  cell.byDay.set(day, dollars)
}

function modelOf(id: string, cells: Cells): readonly object[] {
  if ([...cells.values()].some(({ isDisputed }) => isDisputed)) return []
  const byTier = Map.groupBy(cells.values(), ({ tier }) => tier)
  const standard = datedPrices(byTier.get(null) ?? [])
  const isWhole = standard.some(({ prices }) => 'input_mtok' in prices)
  const sells = id.includes('embedding') || standard.some(({ prices }) => 'output_mtok' in prices)
  if (!isWhole || !sells) return []
  const variants = [...withPlainZone(byTier)].flatMap(([tier, ofTier]) =>
    tier === null
      ? []
      : datedPrices(ofTier)
          .toReversed()
          .map((dated) => ({ when: { service_tier: tier }, ...dated })),
  )
  return [
    {
      id,
      match: { equals: id },
      prices: standard,
      ...(variants.length === 0 ? {} : { price_variants: variants }),
    },
  ]
}

/** `data-zone` says not which: it has a price where the American and the European cost the same. */
function withPlainZone(byTier: ReadonlyMap<string | null, Cell[]>): ReadonlyMap<string | null, Cell[]> {
  const all = new Map(byTier)
  for (const [tier, american] of byTier) {
    if (tier === null || !tier.includes('data-zone-us')) continue
    const european = byTier.get(tier.replace('data-zone-us', 'data-zone-eu'))
    const textOf = (cells: readonly Cell[]) =>
      JSON.stringify(
        datedPrices(cells)
          .map(({ prices }) => prices)
          .at(-1),
      )
    if (european === undefined || textOf(american) !== textOf(european)) continue
    const service = tier.split('+').filter((part) => part !== 'data-zone-us')
    all.set(joinPlace(service.length === 0 ? null : service.join('+'), 'data-zone'), american)
  }
  return all
}

type Rate = number | { readonly base: number; readonly tiers: readonly { start: number; price: number }[] }

/** Whole prices from each day on which any of them changes, the oldest first. */
function datedPrices(
  cells: readonly Cell[],
): readonly { constraint: { start_date: string }; prices: Readonly<Record<string, Rate>> }[] {
  const days = [...new Set(cells.flatMap(({ byDay }) => [...byDay.keys()]))].sort()
  return days.flatMap((day) => {
    const prices: Record<string, Rate> = {}
    for (const cell of cells) {
      const price = priceOn(cell, day)
      if (cell.isLong || price === null) continue
      const long = cells.find(({ key, isLong }) => isLong && key === cell.key)
      const over = long === undefined ? null : priceOn(long, day)
      prices[cell.key] =
        over === null ? price : { base: price, tiers: [{ start: LONG_PROMPT_TOKENS, price: over }] }
    }
    return Object.keys(prices).length === 0 ? [] : [{ constraint: { start_date: day }, prices }]
  })
}

function priceOn({ byDay }: Cell, day: string): number | null {
  const since = [...byDay.keys()].filter((from) => from <= day).sort()
  const last = since.at(-1)
  return last === undefined ? null : (byDay.get(last) ?? null)
}
