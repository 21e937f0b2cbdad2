import { isUnpricedReason, type UnpricedReason } from '../../call/unpriced-reason.ts'
import type { Occurrence } from '../../domain/conditions/condition.ts'
import { type Finding, ok, warning } from '../../domain/conditions/finding.ts'
import { addDays, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import {
  type CheckedUse,
  checkPrices,
  type HasPrice,
  MOST_CALLS_OF_ALERTS,
  nameUnpriced,
  selectUnpricedUse,
  type UnpricedUse,
} from '../unpriced-use.ts'

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
  mend: 'price them: tallygate prices reprice --model NAME --since DAY',
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
    mend: 'let the clients name it; what was spent is in the report of the provider: tallygate reconcile',
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
    mend: 'correct the provider of the upstream; what was spent is in the report of the provider: tallygate reconcile',
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
    mend: 'take them out of paths.allow in TALLYGATE_CONFIG, or take the cost from the report of the provider: tallygate reconcile',
    by: 'call',
  },
  no_reader: {
    name: 'no reader',
    what: 'were answered, nothing metered',
    mend: 'refuse the paths in TALLYGATE_CONFIG (paths), or take the cost from the report of the provider: tallygate reconcile',
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
async function checkUnpriced(pool: Postgres, hasPrice: HasPrice | null): Promise<readonly Finding[]> {
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

/** Of calls that were answered, and nothing tells what they used. The other reasons are a price that is missing. */
const UNREAD: readonly (UnpricedReason | string)[] = [
  'no_reader',
  'no_figures',
  'invalid_usage',
  'contradictory_usage',
  'passes_by',
] satisfies readonly UnpricedReason[]

/** Their figures are still to come. */
const LATER: UnpricedReason = 'billed_later'

/** Calls from `fromDay` on that have no price, by model and upstream. */
export async function findUnpricedCalls(pool: Postgres, fromDay: UtcDay): Promise<readonly Occurrence[]> {
  const used = await selectUnpricedUse(pool, fromDay, MOST_CALLS_OF_ALERTS)
  return used.filter((use) => use.reason !== LATER && !isUnread(use)).map(unpricedOccurrence)
}

/** Calls from `fromDay` on that were answered and could not be read, by path. */
export async function findUnreadCalls(pool: Postgres, fromDay: UtcDay): Promise<readonly Occurrence[]> {
  return (await selectUnpricedUse(pool, fromDay, MOST_CALLS_OF_ALERTS))
    .filter(isUnread)
    .map(unpricedOccurrence)
}

function isUnread({ reason }: UnpricedUse): boolean {
  return reason !== null && UNREAD.includes(reason)
}

function unpricedOccurrence(use: UnpricedUse): Occurrence {
  const { provider, upstream, method, path, reason } = use
  const model = nameUnpriced(use)
  const subject =
    isUnread(use) && path !== null ? `${method} ${path} at ${upstream}` : `${model} at ${upstream}`
  const calls = Number(use.calls)
  const what = isUnread(use) ? 'could not be read' : 'have no price'
  return {
    subject,
    period: use.lastDay,
    payload: {
      message: `Calls ${what}, and their cost is in no total: ${subject}, ${calls} by now on ${use.lastDay} (${reason ?? 'no_price'}).`,
      model,
      provider,
      upstream,
      service_tier: use.serviceTier,
      method,
      path,
      reason,
      calls,
      day: use.lastDay,
    },
  }
}

interface UnpricedPorts {
  readonly pool: Postgres
  /** Whether a model has a price now, by the prices in force; `null`: gateways price differently. */
  readonly findHasPrice: () => Promise<HasPrice | null>
}

export const UNPRICED: Condition<UnpricedPorts> = {
  name: 'prices',
  place: 'postgres',
  severity: 'note',
  find: async ({ pool, findHasPrice }) => checkUnpriced(pool, await findHasPrice()),
  alert: {
    kind: 'unpriced',
    meaning: 'calls without a price',
    ofClient: false,
    when: 'each minute',
    finders: [({ pool }, { fromDay }) => findUnpricedCalls(pool, fromDay)],
  },
  rules: [
    {
      name: 'CallsUnpriced',
      expr: 'increase(tallygate_unpriced_calls_total[1h]) > 0',
      severity: 'ticket',
      summary:
        'Calls have no cost, by `reason`: `tallygate prices check`, and docs/prices.md, section 8. `no_reader` is a path without a reader.',
    },
    {
      name: 'CallsPartlyUnpriced',
      expr: 'increase(tallygate_partly_unpriced_calls_total[1h]) > 0',
      severity: 'ticket',
      summary: 'Something that was used has no price: `tallygate usage --by model`.',
    },
  ],
}

/** Its lines of `doctor` are those of calls without a cost. */
export const UNREAD_CALLS: Condition<UnpricedPorts> = {
  name: 'unread calls',
  place: 'postgres',
  severity: 'note',
  event: 'call.unreadable',
  alert: {
    kind: 'unread',
    meaning: 'calls whose use could not be read',
    ofClient: false,
    when: 'each minute',
    finders: [({ pool }, { fromDay }) => findUnreadCalls(pool, fromDay)],
  },
  rules: [
    {
      name: 'AnswersUnread',
      expr: 'increase(tallygate_reading_failures_total[1h]) > 0',
      severity: 'ticket',
      summary: 'A provider changed its format: answers pass, and their counts are estimated.',
    },
  ],
}
