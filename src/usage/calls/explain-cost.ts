import { picoToUsdText } from '../../domain/pico-usd.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { readContracts } from '../../pricing/contracts/contracts-table.ts'
import {
  addCosts,
  costsOfLine,
  markupIn,
  NO_COSTS,
  type OperatorCosts,
} from '../../pricing/contracts/three-costs.ts'
import type { Price } from '../../pricing/price.ts'
import { sumsOfCall } from '../../pricing/price-cost.ts'
import type { RateClass } from '../../pricing/price-rates.ts'
import { rateShownAs } from '../../pricing/shown-prices.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type CostLine, costLinesOf } from '../cost-lines.ts'
import { selectPrices, selectPricesAndParts } from '../price-definitions.ts'
import { type FoundCall, findCalls } from './find-calls.ts'

/** No call has an id with any of these. PostgreSQL refuses some of them in any text. */
export const NO_ID = /\p{Cc}/u

/** A call, its price, and the lines that its cost is the sum of. */
export interface ExplainedCall {
  readonly call: FoundCall
  /** `null`: it has none, or its definition is not kept. */
  readonly price: Price | null
  /** None where the cost is not known or 0. */
  readonly lines: readonly CostLine[]
}

/**
 * What a call of this client cost, without what is the operator's business: upstream, price list and markup. Of several
 * with an upstream's id the newest. `null`: the client has none that is kept.
 */
export async function findReceipt(pool: Postgres, clientId: string, id: string) {
  if (NO_ID.test(id)) return null
  const explained = await explainCalls(pool, id, clientId)
  const [newest] = explained.map(renderExplained)
  if (newest === undefined) return null
  const { client, upstream, provider, price, ...receipt } = newest
  return { ...receipt, service_tier: price?.service_tier ?? null, unpriced: price?.unpriced ?? [] }
}

/** As `findCalls`, each with the lines of its cost. */
export async function explainCalls(
  pool: Postgres,
  id: string,
  clientId: string | null = null,
): Promise<ExplainedCall[]> {
  const calls = await findCalls(pool, id, clientId)
  const prices = await selectPrices(pool, new Set(calls.flatMap(({ priceId }) => priceId ?? [])))
  return calls.map((call) => {
    const price = prices.get(call.priceId ?? '') ?? null
    return {
      call,
      price,
      lines: costLinesOf(BigInt(call.costPico ?? 0), sumsOfCall(call.usage, call.units), price),
    }
  })
}

/** A call with what it costs the operator; `null`: it is unpriced. */
export interface ExplainedCost extends ExplainedCall {
  readonly costs: OperatorCosts | null
}

/** The same for operators, by their contracts. */
export async function explainCosts(pool: Postgres, id: string): Promise<ExplainedCost[]> {
  const [explained, contracts] = await Promise.all([explainCalls(pool, id), readContracts(pool)])
  const prices = await selectPricesAndParts(pool, new Set(explained.flatMap(({ price }) => price?.id ?? [])))
  return explained.map((one) => {
    const { call, price, lines } = one
    const { upstream, model, arrivedAtMs } = call
    const day = utcDayOf(arrivedAtMs)
    const terms = contracts.termsOf({ day, upstream, model, price: price?.definition ?? null })
    const markup = markupIn(price, prices)
    const costs = lines.map((line) => costsOfLine(line, markup, terms)).reduce(addCosts, NO_COSTS)
    return { ...one, costs: call.costPico === null ? null : costs }
  })
}

export function renderExplainedCost({ costs, ...explained }: ExplainedCost) {
  return {
    ...renderExplained(explained),
    list_usd: costs === null ? null : picoToUsdText(costs.listPico),
    contracted_usd: costs === null ? null : picoToUsdText(costs.contractedPico),
  }
}

/** A call as JSON, as its client may see it but for what names the operator's side. */
export function renderExplained({ call, price, lines }: ExplainedCall) {
  return {
    call_id: call.callId,
    response_id: call.responseId ?? null,
    arrived_at: new Date(call.arrivedAtMs).toISOString(),
    client: call.client,
    upstream: call.upstream,
    provider: call.provider,
    model: call.model,
    status: call.status,
    outcome: call.outcome,
    usage_source: call.usageSource,
    usage: call.usageRaw ?? null,
    cost_usd: call.costPico === null ? null : picoToUsdText(BigInt(call.costPico)),
    unpriced_reason: call.unpricedReason ?? null,
    price: price === null ? null : renderPrice(price),
    components: lines.map(({ name, quantity, unit, unitPico, amountPico }) => ({
      name,
      quantity: Number(quantity),
      unit,
      unit_price_usd: unitPico === null ? null : picoToUsdText(unitPico),
      amount_usd: picoToUsdText(amountPico),
    })),
  }
}

function renderPrice({ id, definition }: Price) {
  const linear = definition.basis === 'linear' ? definition : null
  const hasFactor = definition.basis === 'linear' || definition.basis === 'reported'
  const isPartial = definition.basis === 'linear' || definition.basis === 'parts'
  return {
    price_id: id,
    basis: definition.basis,
    source: linear?.source ?? null,
    provider: linear?.provider ?? null,
    model: linear?.model ?? null,
    from: linear?.from ?? null,
    hours: linear?.hours ?? null,
    service_tier: linear?.serviceTier ?? null,
    factor: hasFactor ? definition.factor : null,
    prices: definition.basis === 'parts' ? definition.prices : [],
    unpriced: isPartial ? (definition.unpriced ?? []).map((rate: RateClass) => rateShownAs(rate).name) : [],
  }
}
