import type { Period } from '../../../domain/period.ts'
import type { UtcDay } from '../../../domain/utc-day.ts'
import type { ContractTerms } from '../../../pricing/contracts/contract.ts'
import { readContracts } from '../../../pricing/contracts/contracts-table.ts'
import {
  contractedRate,
  costsOfLine,
  costsOfWhole,
  listedLine,
  markupIn,
} from '../../../pricing/contracts/three-costs.ts'
import type { Price } from '../../../pricing/price.ts'
import type { RateClass } from '../../../pricing/price-rates.ts'
import type { PostgresSession } from '../../../store/connection/postgres.ts'
import { SCHEMA } from '../../../store/connection/schema.ts'
import { costLinesOf } from '../../../usage/cost-lines.ts'
import { linesFrom, type StoredLine } from '../../../usage/costs/operator-costs.ts'
import { sumsFrom } from '../../../usage/daily-row.ts'
import { METRICS, valueIn } from '../../../usage/metrics-table.ts'
import { selectPricesAndParts } from '../../../usage/price-definitions.ts'
import { BILLERS, type Biller, type InvoiceClass } from '../invoice-row.ts'
import { TIER_WORDS } from '../invoice-words.ts'

/** What we counted of one class on one day, at what it costs the operator by the contracts. */
export interface OwnUse {
  readonly day: UtcDay
  readonly model: string
  /** `null`: no rates give it, or invoices do not keep it apart. */
  readonly class: InvoiceClass | null
  readonly tier: string
  /** '': the usual one. */
  readonly place: string
  /** Millionths of one; `null`: of several kinds. */
  readonly quantityMicro: bigint | null
  /** 1e-12 USD. 0 of calls without a price. */
  readonly amountPico: bigint
}

const CLASSES: Readonly<Partial<Record<RateClass, InvoiceClass>>> = {
  input: 'input',
  audioInput: 'input',
  imageInput: 'input',
  videoInput: 'input',
  cacheRead: 'cache_read',
  cacheReadAudio: 'cache_read',
  cacheReadImage: 'cache_read',
  cacheWrite: 'cache_write',
  cacheWrite1h: 'cache_write',
  cacheWrite12h: 'cache_write',
  output: 'output',
  reasoning: 'output',
  audioOutput: 'output',
  imageOutput: 'output',
  webSearch: 'search',
  searchUnit: 'search',
  fileSearch: 'search',
  xSearch: 'search',
  mapSearch: 'search',
}

const MICRO = 1_000_000n

type SqlRow = Readonly<Record<string, string | null>>

const SUMMED = METRICS.filter(
  ({ kind, field }) => kind === 'tokens' || kind === 'units' || field === 'costPico',
)
const SUMS = ['requests', 'settlements', ...SUMMED.map(({ column }) => column)]
const KEYS = 'u.day, u.upstream, u.model, u.price_id'

/** All use of the providers that send such invoices, metered and repriced. Credits to clients are not in it. */
export async function selectOwnUse(
  session: PostgresSession,
  biller: Biller,
  { fromDay, toDay }: Period,
): Promise<readonly OwnUse[]> {
  const values = [[...BILLERS[biller]], fromDay, toDay]
  const used = await session.query<SqlRow>(
    `select ${KEYS}, ${SUMS.map((column) => `sum(${valueIn('u', column)})::text as ${column}`).join(', ')}
     from ${SCHEMA}.daily_usage u where provider = any($1) and day between $2 and $3 group by ${KEYS}`,
    values,
  )
  const repriced = await session.query<SqlRow>(
    `select day, upstream, model, price_id, u.pico::text as pico, u.lines::text as lines from ${SCHEMA}.adjustment_entries u
     join ${SCHEMA}.adjustments a on a.id = u.adjustment_id and a.kind = 'reprice'
     join ${SCHEMA}.daily_usage d using (client_id, day, key_id, model, upstream, price_id)
     where d.provider = any($1) and u.day between $2 and $3`,
    values,
  )
  const contracts = await readContracts(session)
  const ids = new Set([...used.rows, ...repriced.rows].map((row) => row.price_id ?? ''))
  const prices = await selectPricesAndParts(session, ids)
  const pricedBy = (row: SqlRow): Priced => {
    const { day, upstream, model, price_id: priceId } = row
    const price = prices.get(priceId ?? '') ?? null
    const calls = { day: day ?? '', upstream: upstream ?? '', model: model ?? '' }
    return {
      ...{ row, price, prices, ...tierOf(price) },
      terms: contracts.termsOf({ ...calls, price: price?.definition ?? null }),
    }
  }
  return [
    ...used.rows.flatMap((row) => useOf(pricedBy(row))),
    ...repriced.rows.flatMap((row) => repricingOf(pricedBy(row))),
  ]
}

interface Priced {
  readonly row: SqlRow
  readonly price: Price | null
  readonly prices: ReadonlyMap<string, Price>
  readonly terms: ContractTerms
  readonly tier: string
  readonly place: string
}

/** A service tier has the place of the call in it: `batch+eu`. */
function tierOf(price: Price | null): { readonly tier: string; readonly place: string } {
  const definition = price?.definition
  const written =
    definition?.basis === 'linear' || definition?.basis === 'unpriced' ? (definition.serviceTier ?? '') : ''
  const parts = written.split('+').map((part) => (part === 'fast' ? 'priority' : part))
  const isTier = (part: string) => TIER_WORDS.includes(part) || ['', 'standard', 'default'].includes(part)
  return {
    tier: parts.find((part) => TIER_WORDS.includes(part)) ?? 'standard',
    place: (parts.find((part) => !isTier(part)) ?? '').replace(/^data-zone-.*/, 'data-zone'),
  }
}

function useOf({ row, price, prices, terms, tier, place }: Priced): OwnUse[] {
  const of = { day: row.day ?? '', model: row.model ?? '', tier, place }
  const sums = sumsFrom(row)
  const costPico = BigInt(row.cost_pico ?? '0')
  if (costPico === 0n) {
    const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = sums
    const counted: readonly (readonly [InvoiceClass, bigint])[] = [
      ['input', inputTokens - cacheReadTokens - cacheWriteTokens],
      ['cache_read', cacheReadTokens],
      ['cache_write', cacheWriteTokens],
      ['output', outputTokens],
    ]
    return counted.flatMap(([name, tokens]) =>
      tokens <= 0n ? [] : [{ ...of, class: name, quantityMicro: tokens * MICRO, amountPico: 0n }],
    )
  }
  const markup = markupIn(price, prices)
  return costLinesOf(costPico, sums, price).map((line) => ({
    ...of,
    class: line.class === null ? null : (CLASSES[line.class] ?? null),
    quantityMicro: listedLine(line, markup) === null ? null : line.quantity * MICRO,
    amountPico: costsOfLine(line, markup, terms).contractedPico,
  }))
}

function repricingOf({ row, price, prices, terms, tier, place }: Priced): OwnUse[] {
  const of = { day: row.day ?? '', model: row.model ?? '', tier, place }
  if (row.lines == null) {
    const { contractedPico } = costsOfWhole(BigInt(row.pico ?? '0'), markupIn(price, prices), terms)
    return [{ ...of, class: null, quantityMicro: null, amountPico: contractedPico }]
  }
  const stored: readonly StoredLine[] = JSON.parse(row.lines)
  return linesFrom(stored).map((line) => ({
    ...of,
    class: CLASSES[line.class] ?? null,
    // A repricing counts nothing: quantities that it gives to one price it takes from another.
    quantityMicro: 0n,
    amountPico: line.quantity * contractedRate(line, terms),
  }))
}
