import { type Decimal, decimalOf, decimalText, multiply } from '../decimal.ts'

/** A price as catalog data has it: US dollars for a million, a thousand or an hour, more above some sizes of prompt. */
export type ListedRate =
  | number
  | { readonly base: number; readonly tiers: readonly { readonly start: number; readonly price: number }[] }

export interface LiteLlmPrices {
  readonly prices: Readonly<Record<string, ListedRate>>
  readonly serviceTiers: Readonly<Record<string, Readonly<Record<string, ListedRate>>>>
}

type Fields = Readonly<Record<string, unknown>>
type Report = (what: string) => void

/** LiteLLM's fields of prices for one token, and the catalog's keys for a million. */
const TOKEN_FIELDS: ReadonlyMap<string, string> = new Map([
  ['input_cost_per_token', 'input_mtok'],
  ['output_cost_per_token', 'output_mtok'],
  ['cache_read_input_token_cost', 'cache_read_mtok'],
  ['input_cost_per_token_cache_hit', 'cache_read_mtok'],
  ['cache_creation_input_token_cost', 'cache_write_mtok'],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_1h_mtok'],
  ['cache_creation_input_token_cost_above_12hr', 'cache_write_12h_mtok'],
  ['input_cost_per_audio_token', 'input_audio_mtok'],
  ['cache_read_input_audio_token_cost', 'cache_audio_read_mtok'],
  ['input_cost_per_image_token', 'input_image_mtok'],
  ['cache_read_input_image_token_cost', 'cache_image_read_mtok'],
  ['input_cost_per_video_token', 'input_video_mtok'],
  ['output_cost_per_audio_token', 'output_audio_mtok'],
  ['output_cost_per_image_token', 'output_image_mtok'],
  ['output_cost_per_reasoning_token', 'output_reasoning_mtok'],
  ['citation_cost_per_token', 'output_citation_mtok'],
])

/** Their names of service tiers, and ours. */
const TIERS: ReadonlyMap<string, string> = new Map([
  ['', ''],
  ['_batches', 'batch'],
  ['_flex', 'flex'],
  ['_priority', 'priority'],
  ['_ultrafast', 'ultrafast'],
  ['_balanced', 'balanced'],
])

const TOKEN_FIELD = /^(.+?)(?:_above_([0-9]+)k_tokens)?(_batches|_flex|_priority|_ultrafast|_balanced)?$/

/** No token or character has cost a tenth of these dollars, no picture, second, page or query a tenth of the other. */
const MOST_A_TOKEN = 0.01
const MOST_OF_ANYTHING = 100

interface Cell {
  base: number | null
  readonly tiers: { start: number; price: number }[]
}

/**
 * The prices of an entry of LiteLLM's list, at the standard tier and at others. A price of 0 counts as none: the
 * list has it for what is free and for what is unknown. What cannot be a price is reported.
 *
 * @param name Of the model, as its host calls it.
 * @returns `null`: nothing that calls are billed by.
 */
export function readLiteLlmPrices(name: string, entry: Fields, report: Report): LiteLlmPrices | null {
  const cells = tokenCells(entry, report)
  addRanges(entry, cells, report)
  const standard = ratesOf(cells.get(''))
  const isByTokens = standard.input_mtok !== undefined || standard.output_mtok !== undefined
  const mode = typeof entry.mode === 'string' ? entry.mode : ''
  const isAnswer = mode === 'chat' || mode === 'completion' || mode === 'responses'
  // No provider gives output away and sells input: half of it was never looked up.
  if (isAnswer && isByTokens && (standard.input_mtok === undefined || standard.output_mtok === undefined)) {
    return null
  }
  const others = readUnits(entry, mode, isByTokens, SESSIONS.test(name), report)
  const prices = { ...standard, ...others.prices }
  if (Object.keys(prices).length === 0) return null
  const tiers = [...cells].flatMap(([tier, rates]): [string, Record<string, ListedRate>][] => {
    const listed = ratesOf(rates)
    return tier === '' || listed.input_mtok === undefined ? [] : [[tier, listed]]
  })
  return { prices, serviceTiers: { ...Object.fromEntries(tiers), ...others.serviceTiers } }
}

const SESSIONS = /^gemini-(?:live-)?2.*(?:live|native-audio)|^gemini-live-2/

type Cells = Map<string, Map<string, Cell>>

function tokenCells(entry: Fields, report: Report): Cells {
  const cells: Cells = new Map()
  for (const [field, value] of Object.entries(entry)) {
    const [, stem = '', thousands, suffix = ''] = TOKEN_FIELD.exec(field) ?? []
    const key = TOKEN_FIELDS.get(stem)
    const tier = TIERS.get(suffix)
    if (key === undefined || tier === undefined) continue
    const price = readPrice(field, value, MOST_A_TOKEN, report)
    if (price === null) continue
    const cell = cellOf(cells, tier, key)
    const perMillion = times(price, 1_000_000)
    if (thousands === undefined) cell.base ??= perMillion
    else cell.tiers.push({ start: Number(thousands) * 1_000, price: perMillion })
  }
  return cells
}

/** Alibaba's prices by size of prompt: `tiered_pricing` is a list of ranges, each with its own. */
function addRanges(entry: Fields, cells: Cells, report: Report): void {
  const ranges = Array.isArray(entry.tiered_pricing) ? entry.tiered_pricing : []
  for (const range of ranges as readonly unknown[]) {
    const fields: Fields = typeof range === 'object' && range !== null ? { ...range } : {}
    const start = Array.isArray(fields.range) ? Number(fields.range[0]) : Number.NaN
    if (!Number.isSafeInteger(start) || start < 0) {
      report('tiered_pricing has no range of tokens')
      continue
    }
    for (const [field, key] of TOKEN_FIELDS) {
      const price = readPrice(field, fields[field], MOST_A_TOKEN, report)
      if (price === null) continue
      const cell = cellOf(cells, '', key)
      if (start === 0) cell.base = times(price, 1_000_000)
      else cell.tiers.push({ start, price: times(price, 1_000_000) })
    }
  }
}

function cellOf(cells: Cells, tier: string, key: string): Cell {
  const rates = cells.get(tier) ?? new Map<string, Cell>()
  cells.set(tier, rates)
  const cell = rates.get(key) ?? { base: null, tiers: [] }
  rates.set(key, cell)
  return cell
}

/** The class whose tokens others are a part of. */
const PART_OF: ReadonlyMap<string, string> = new Map([
  ['cache_read_mtok', 'input_mtok'],
  ['cache_write_mtok', 'input_mtok'],
  ['input_audio_mtok', 'input_mtok'],
  ['input_image_mtok', 'input_mtok'],
  ['input_video_mtok', 'input_mtok'],
  ['output_audio_mtok', 'output_mtok'],
  ['output_image_mtok', 'output_mtok'],
  ['output_reasoning_mtok', 'output_mtok'],
])

/** Sizes of prompt are listed once: what costs the same as all input or output has the sizes of these. */
function tiersOf(cells: ReadonlyMap<string, Cell>, key: string, { base, tiers }: Cell): Cell['tiers'] {
  const all = cells.get(PART_OF.get(key) ?? key)
  return tiers.length === 0 && all?.base === base ? all.tiers : tiers
}

function ratesOf(cells: ReadonlyMap<string, Cell> = new Map()): Record<string, ListedRate> {
  return Object.fromEntries(
    [...cells].flatMap(([key, cell]): [string, ListedRate][] => {
      const { base } = cell
      const tiers = tiersOf(cells, key, cell)
      if (base === null) return []
      const rising = tiers.toSorted((a, b) => a.start - b.start)
      return [[key, rising.length === 0 ? base : { base, tiers: rising }]]
    }),
  )
}

/** Prices of all but tokens. Where tokens are, pictures, seconds and characters are another measure of these. */
function readUnits(
  entry: Fields,
  mode: string,
  isByTokens: boolean,
  isUnknownSession: boolean,
  report: Report,
): LiteLlmPrices {
  const prices: Record<string, ListedRate> = {}
  const serviceTiers: Record<string, Record<string, ListedRate>> = {}
  const read = (field: string, most = MOST_OF_ANYTHING) => readPrice(field, entry[field], most, report)
  const set = (key: string, price: number | null, count: number) => {
    if (price !== null) prices[key] = times(price, count)
  }
  // Up to Gemini 2.5 the fee is for a prompt, and of a session only the queries are known.
  if (!isUnknownSession) set('map_searches_kcount', read('google_maps_grounding_cost_per_query'), 1_000)
  set('requests_kcount', read('input_cost_per_request'), 1_000)
  if (!isUnknownSession) set('web_searches_kcount', searchFee(entry, report), 1_000)
  if (mode === 'ocr') {
    set('input_document_kpages', read('ocr_cost_per_page'), 1_000)
    set('input_annotated_document_kpages', read('annotation_cost_per_page'), 1_000)
    const page = read('ocr_cost_per_page_batches')
    const annotated = read('annotation_cost_per_page_batches')
    if (page !== null) {
      serviceTiers.batch = {
        input_document_kpages: times(page, 1_000),
        ...(annotated === null ? {} : { input_annotated_document_kpages: times(annotated, 1_000) }),
      }
    }
  }
  if (mode === 'rerank') set('rerank_searches_kcount', read('input_cost_per_query'), 1_000)
  if (isByTokens) return { prices, serviceTiers }
  if (mode === 'image_generation')
    set('images_kcount', read('output_cost_per_image') ?? read('input_cost_per_image'), 1_000)
  if (mode === 'audio_speech') set('input_mchars', read('input_cost_per_character', MOST_A_TOKEN), 1_000_000)
  if (mode === 'audio_transcription') {
    set('input_audio_hours', read('input_cost_per_second') ?? read('output_cost_per_second'), 3_600)
  }
  if (mode === 'video_generation') {
    set('video_hours', read('output_cost_per_video_per_second') ?? read('output_cost_per_second'), 3_600)
    for (const field of Object.keys(entry)) {
      const [, size] = /^output_cost_per_second_([0-9]+p|[0-9]k)$/.exec(field) ?? []
      const price = size === undefined ? null : read(field)
      if (size !== undefined && price !== null) serviceTiers[size] = { video_hours: times(price, 3_600) }
    }
  }
  return { prices, serviceTiers }
}

/** The fee of a web search, where it is the same however much is read; Perplexity's is for the request, by size. */
function searchFee(entry: Fields, report: Report): number | null {
  const listed = entry.search_context_cost_per_query
  if (typeof listed !== 'object' || listed === null || entry.litellm_provider === 'perplexity') return null
  const fees = Object.entries(listed).map(([size, fee]) => readPrice(size, fee, MOST_OF_ANYTHING, report))
  const [first = null, ...others] = fees
  return others.every((fee) => fee === first) ? first : null
}

/** `null`: it is not there, or 0. Numbers are dollars for one. */
function readPrice(field: string, value: unknown, most: number, report: Report): number | null {
  if (value === undefined || value === null || value === 0) return null
  if (typeof value !== 'number' || !Number.isFinite(value)) report(`${field} is no number`)
  else if (value < 0) report(`${field} is negative`)
  else if (value > most) report(`${field} is $${value} for one, which nothing costs`)
  else return value
  return null
}

/** Without what binary fractions add to a product. */
function times(price: number, count: number): number {
  const factor: Decimal = decimalOf(count)
  return Number(decimalText(multiply(decimalOf(price), factor)))
}
