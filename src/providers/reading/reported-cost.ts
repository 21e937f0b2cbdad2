import { type JsonObject, member } from './json-value.ts'

const DECIMAL = /^(\d{1,12})(?:\.(\d{0,40}))?(?:e([+-]?\d{1,2}))?$/i
const PICO_DIGITS = 12
/** xAI counts in ticks of 1e-10 USD (docs.x.ai, "cost_in_usd_ticks"). */
const PICO_PER_TICK = 100n
/** Anthropic's amounts of money are in cents. */
const PICO_PER_CENT = 10_000_000_000n
/** Above this many USD the reported cost of a single call is a mistake. */
const MAX_USD = 1e9

/** The cost of a call as a provider says it, from its usage object; integer pico-USD or `null`. */
export type ReadCost = (usage: JsonObject) => bigint | null

/**
 * OpenRouter and Vercel: `usage.cost` in USD is what they themselves take. With the client's own key at the provider
 * (`is_byok`) that is a fee or 0, and what the provider takes stands beside it: `cost_details.upstream_inference_cost`,
 * at Vercel `market_cost`. `null` where it does not: then only our own price says it. What Vercel adds for some options
 * (`zeroDataRetention`) is `surcharge_cost`, which may be more than the call itself; `gateway_cost` has it, too.
 */
export const costInUsd: ReadCost = (usage) => {
  const cost = picoFromUsd(usage.cost)
  const market = picoFromUsd(usage.market_cost)
  const paid =
    usage.is_byok === true ? paidAtProvider(usage, market) : cost === 0n && market !== null ? market : cost
  if (paid === null) return null
  const base = usage.is_byok === true ? paid + (cost ?? 0n) : paid
  return (
    base + (picoFromUsd(usage.surcharge_cost) ?? addedTo(cost ?? 0n, base, picoFromUsd(usage.gateway_cost)))
  )
}

function paidAtProvider(usage: JsonObject, market: bigint | null): bigint | null {
  const inference = picoFromUsd(member(usage, 'cost_details')?.upstream_inference_cost)
  return inference === null || inference === 0n ? (market ?? inference) : inference
}

/** What the gateway takes beside the call. Where that is less than the call costs, it is beside `cost` alone. */
function addedTo(cost: bigint, base: bigint, whole: bigint | null): bigint {
  if (whole === null) return 0n
  const added = whole - (whole < base ? cost : base)
  return added > 0n ? added : 0n
}

/** Perplexity: `usage.cost.total_cost` in USD, request fee included. */
export const totalCostInUsd: ReadCost = (usage) => picoFromUsd(member(usage, 'cost')?.total_cost)

/** xAI: `usage.cost_in_usd_ticks`, server tools included. */
export const costInTicks: ReadCost = (usage) => {
  const ticks = usage.cost_in_usd_ticks
  return typeof ticks === 'number' && Number.isSafeInteger(ticks) && ticks >= 0
    ? BigInt(ticks) * PICO_PER_TICK
    : null
}

/** Anthropic's sessions of agents: `list_cost`, an amount in whole cents of US dollars, written as text. */
export const listCost: ReadCost = (usage) => {
  const listed = member(usage, 'list_cost')
  const cents = listed?.currency === 'USD' ? listed.amount : null
  return typeof cents === 'string' && /^\d{1,12}$/.test(cents) ? BigInt(cents) * PICO_PER_CENT : null
}

/**
 * US dollars as JSON has them to integer pico-USD, rounded half up. A number is taken by its shortest decimal
 * text, which is what the provider wrote as far as a double can hold it; no arithmetic is done on floats.
 * `null` for anything but an amount, and for negative ones.
 */
export function picoFromUsd(value: unknown): bigint | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null
  if (!(Number(value) >= 0 && Number(value) < MAX_USD)) return null
  const match = DECIMAL.exec(String(value))
  if (match === null) return null
  const [, whole = '', fraction = '', exponent = '0'] = match
  const digits = whole + fraction
  // Digits that stand left of the pico-dollar's own place.
  const kept = whole.length + Number(exponent) + PICO_DIGITS
  if (kept < 0) return 0n
  if (kept >= digits.length) return BigInt(digits.padEnd(kept, '0'))
  const roundUp = (digits[kept] ?? '0') >= '5'
  return BigInt(digits.slice(0, kept) || '0') + (roundUp ? 1n : 0n)
}
