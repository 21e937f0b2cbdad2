import { isUnpricedReason, type UnpricedReason } from '../../call/unpriced-reason.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type CheckedUse, checkPrices, type HasPrice, nameUnpriced } from '../../usage/unpriced-document.ts'
import { selectUnpricedUse, type UnpricedUse } from '../../usage/unpriced-use.ts'
import { type Finding, ok, warning } from '../finding.ts'

const DAYS = 30
const SHOWN = 5

type Line = {
  readonly name: string
  /** The common description of these calls, shown after their number. */
  readonly what: string
  readonly mend: string
  /**
   * What distinguishes them: the model and service tier that lack a price, or the endpoint that could not be
   * read.
   */
  readonly by: 'model' | 'tier' | 'call'
}

const NO_PRICE: Line = {
  name: 'prices',
  what: 'have no price',
  mend: "add them to prices in TALLYGATE_CONFIG; '0' is what is free",
  by: 'model',
}

/** Their price was added since: adding it again would not help. */
const PRICED_SINCE: Line = {
  name: 'late prices',
  what: 'had no price, and their models have one now',
  mend: 'price them: prices reprice --model NAME --since DAY',
  by: 'model',
}

const LINES: Readonly<Record<UnpricedReason, Line>> = {
  no_price: NO_PRICE,
  unknown_tier: {
    name: 'service tiers',
    what: 'were served at a tier whose price is unknown',
    mend: 'add a price with that service_tier to prices in TALLYGATE_CONFIG',
    by: 'tier',
  },
  no_model: {
    name: 'no model',
    what: 'name no model, so have no price',
    mend: 'let the clients name it; what was spent is in the report of the provider: reconcile',
    by: 'call',
  },
  use_without_price: {
    name: 'price gaps',
    what: 'used what the price of their model does not name',
    mend: 'add a whole price to prices in TALLYGATE_CONFIG',
    by: 'model',
  },
  contradictory_usage: {
    name: 'contradictions',
    what: 'have parts of their usage that are larger than the whole',
    mend: 'correct the provider of the upstream; what was spent is in the report of the provider: reconcile',
    by: 'model',
  },
  invalid_usage: {
    name: 'invalid usage',
    what: 'reported counts that no call can have',
    mend: 'see what the upstream writes: usage_raw in calls; correct its provider',
    by: 'call',
  },
  no_figures: {
    name: 'no figures',
    what: 'were answered without usage where it was expected',
    mend: 'correct the provider of the upstream, or let it report usage (include_usage: always)',
    by: 'call',
  },
  passes_by: {
    name: 'passes by',
    what: 'made credentials or calls whose use goes past the gateway',
    mend: 'take them out of paths.allow in TALLYGATE_CONFIG, or take the cost from the report of the provider: reconcile',
    by: 'call',
  },
  no_reader: {
    name: 'no reader',
    what: 'were answered, nothing metered',
    mend: 'refuse the paths in TALLYGATE_CONFIG (paths), or take the cost from the report of the provider: reconcile',
    by: 'call',
  },
  billed_later: {
    name: 'billed later',
    what: 'started work whose usage was never fetched',
    mend: 'fetch the responses and batches through the gateway: their usage is counted then',
    by: 'call',
  },
}

/**
 * Lists calls without a cost: one line per reason, with what to do.
 *
 * @param hasPrice `null`: not known, so every call that had no price is said to have none.
 */
export async function checkUnpriced(pool: Postgres, hasPrice: HasPrice | null): Promise<readonly Finding[]> {
  const used = await selectUnpricedUse(pool, addDays(utcDayOf(Date.now()), 1 - DAYS))
  const byLine = Map.groupBy(checkPrices(used, hasPrice), lineOf)
  const findings = [...byLine].map(([line, uses]) => findingOf(line, uses))
  if (byLine.has(NO_PRICE) || byLine.has(PRICED_SINCE)) return findings
  return [ok('prices', `every model of the last ${DAYS} days has a price`), ...findings]
}

function lineOf({ reason, hasPriceNow }: CheckedUse): Line {
  const line = isUnpricedReason(reason) ? LINES[reason] : NO_PRICE
  const lackedPrice = line === NO_PRICE || line === LINES.unknown_tier
  return lackedPrice && hasPriceNow === true ? PRICED_SINCE : line
}

function findingOf({ name, what, mend, by }: Line, uses: readonly UnpricedUse[]): Finding {
  const calls = new Map<string, bigint>()
  let sum = 0n
  for (const use of uses) {
    const of = by === 'call' ? `${use.method} ${use.path} at ${use.upstream}` : modelOf(use, by)
    calls.set(of, (calls.get(of) ?? 0n) + use.calls)
    sum += use.calls
  }
  const named = [...calls].slice(0, SHOWN).map(([of, count]) => (by === 'call' ? `${of} (${count})` : of))
  const others = calls.size > SHOWN ? ` and ${calls.size - SHOWN} more` : ''
  return warning(name, `${sum} calls of the last ${DAYS} days ${what}: ${named.join(', ')}${others}`, mend)
}

function modelOf(use: UnpricedUse, by: 'model' | 'tier'): string {
  const { provider, serviceTier } = use
  const model = nameUnpriced(use)
  return by === 'model' ? `${model} (${provider})` : `${model} at ${serviceTier} (${provider})`
}
