import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type PriceDoubt, selectPriceDoubts } from '../refresh/price-doubts.ts'
import { AGED_DAYS, ageInDays, OLD_DAYS, type PriceState, readPriceState } from '../refresh/price-state.ts'
import { PRICE_KINDS } from '../refresh/stored-prices.ts'
import { PRICE_URLS, type PriceCatalogKind } from '../sources/price-catalog-source.ts'

const NAMES: Readonly<Record<PriceCatalogKind, string>> = {
  'genai-prices': 'price data',
  'models.dev': 'models.dev prices',
  litellm: 'litellm prices',
  azure: 'azure prices',
}

const repairRefused = (url: string) =>
  `see tallygate prices diff; if it is right, tallygate prices update --force; else see ${url}`
const repairOld = (kind: PriceCatalogKind) =>
  `let the workers reach ${PRICE_URLS[kind]}, or set it to a copy${BY_HAND[kind]}`
const repairDoubt = ({ provider, model }: PriceDoubt) =>
  `if they are right, tallygate prices accept ${provider}/${model}, or --all`

/** Checks how old the prices are, whether newer ones were refused, and what waits for a person. */
export async function checkPriceData(pool: Postgres, nowMs: number): Promise<readonly Finding[]> {
  const states = await Promise.all(PRICE_KINDS.map((kind) => checkSource(pool, kind, nowMs)))
  return [...states.flat(), ...checkDoubts(await selectPriceDoubts(pool))]
}

async function checkSource(
  pool: Postgres,
  kind: PriceCatalogKind,
  nowMs: number,
): Promise<readonly Finding[]> {
  const state = await readPriceState(pool, kind)
  // No release has Azure's own prices, and without them its models have those of other lists.
  const isMissed = kind === 'azure' && state.isBundled && state.last?.outcome !== 'refused'
  // What was never asked for is as the release has it.
  const isUnasked = kind === 'models.dev' && state.last === null
  return isMissed || isUnasked ? [] : [checkState(kind, state, nowMs)]
}

function checkState(kind: PriceCatalogKind, state: PriceState, nowMs: number): Finding {
  const name = NAMES[kind]
  const { last, freshAt } = state
  const source = state.isBundled ? `${state.source}, of this release` : state.source
  if (last?.outcome === 'refused') {
    return warning(
      name,
      `${source} stands; what was fetched on ${dayOf(last.attemptedAt)} was not taken: ${last.problem}`,
      repairRefused(last.url),
    )
  }
  const days = ageInDays(state, nowMs)
  const age = `last fresh on ${dayOf(freshAt)}, ${days} days ago`
  if (days >= AGED_DAYS) {
    const why =
      last === null ? 'newer ones were never asked for' : (last.problem ?? 'nothing was asked since')
    const isOld = isTooOld(kind, state, days)
    const finding = isOld ? failure : warning
    return finding(
      name,
      `${isOld ? 'calls are priced by OLD DATA: ' : ''}${source}, ${age}: ${why}`,
      repairOld(kind),
    )
  }
  if (last === null) return ok(name, `${source}; newer ones were never asked for`)
  const when = last.outcome === 'unreachable' ? age : `fresh on ${dayOf(last.attemptedAt)}`
  return ok(name, `${source}, ${when}`)
}

/** All but the first may be left unfetched by choice. */
function isTooOld(kind: PriceCatalogKind, { last }: PriceState, days: number): boolean {
  return days >= OLD_DAYS && (kind === 'genai-prices' || last !== null)
}

const BY_HAND: Readonly<Record<PriceCatalogKind, string>> = {
  'genai-prices': ', or take data by hand: tallygate prices update FILE',
  litellm: ', or take data by hand: tallygate prices import FILE',
  'models.dev': '',
  azure: '',
}

const SHOWN = 3

function checkDoubts(doubts: readonly PriceDoubt[]): readonly Finding[] {
  const [first] = doubts
  if (first === undefined) return []
  const shown = doubts.slice(0, SHOWN).map(({ provider, model, why }) => `${provider}/${model}: ${why}`)
  const more = doubts.length > SHOWN ? [`and ${doubts.length - SHOWN} more: tallygate prices doubts`] : []
  return [
    warning(
      'price doubts',
      `newer prices of ${doubts.length} models are doubted, and their old ones stand: ${[...shown, ...more].join('; ')}`,
      repairDoubt(first),
    ),
  ]
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/** Newer prices that wait for a person, data that was refused, and data that is old. */
export async function findPriceTroubles(pool: Postgres, nowMs: number): Promise<readonly Occurrence[]> {
  const doubts = await selectPriceDoubts(pool)
  const today = dayOf(new Date(nowMs))
  const states = await Promise.all(
    PRICE_KINDS.map(async (kind) => troublesOf(kind, await readPriceState(pool, kind), nowMs, today)),
  )
  return [...doubts.map(doubted), ...states.flat()]
}

/** Once, on the day that it was first seen. */
function doubted(doubt: PriceDoubt): Occurrence {
  const { kind, provider, model, why, since } = doubt
  const name = `${provider}/${model}`
  return dailyOccurrence(name, dayOf(since), {
    message: withRepair(
      `Newer prices of ${name} are doubted, and the old ones stand: ${why}`,
      repairDoubt(doubt),
    ),
    source: kind,
    provider,
    model,
    why,
  })
}

function troublesOf(
  kind: PriceCatalogKind,
  state: PriceState,
  nowMs: number,
  today: UtcDay,
): readonly Occurrence[] {
  const { last, source } = state
  const days = ageInDays(state, nowMs)
  return [
    ...(last?.outcome === 'refused'
      ? [
          dailyOccurrence(`${kind} refused`, dayOf(last.attemptedAt), {
            message: withRepair(
              `Newer prices of ${kind} were refused, and ${source} stands: ${last.problem}`,
              repairRefused(last.url),
            ),
            source: kind,
            why: last.problem,
          }),
        ]
      : []),
    ...(isTooOld(kind, state, days) && !(kind === 'azure' && state.isBundled)
      ? [
          dailyOccurrence(`${kind} old`, today, {
            message: withRepair(
              `Calls are priced by data that was last fresh ${days} days ago: ${source}`,
              repairOld(kind),
            ),
            source: kind,
            days,
          }),
        ]
      : []),
  ]
}

export const PRICE_DATA: Condition<{ readonly pool: Postgres; readonly nowMs: number }> = {
  name: 'price data',
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: OLD_DAYS, unit: 'days' },
  find: ({ pool, nowMs }) => checkPriceData(pool, nowMs),
  event: 'prices.held',
  alert: {
    kind: 'prices',
    meaning: `newer prices are doubted or refused, or prices are ${OLD_DAYS} days old`,
    ofClient: false,
    when: 'each minute',
    finders: [({ pool, nowMs }) => findPriceTroubles(pool, nowMs)],
  },
  rules: [
    {
      name: 'PricesRefused',
      expr: 'tallygate_prices_refresh_refused == 1',
      severity: 'ticket',
      summary:
        'Newer prices were fetched and not taken: the old ones stand. `tallygate doctor` says why, `tallygate prices diff` what they would change.',
    },
    {
      name: 'PricesOld',
      expr: `tallygate_prices_age_seconds > ${AGED_DAYS} * 86400`,
      severity: 'ticket',
      summary: `Workers cannot reach \`PRICES_URL\`: prices are those of ${AGED_DAYS} days ago.`,
    },
    {
      name: 'PricesHeld',
      expr: 'tallygate_prices_held_models > 0',
      severity: 'ticket',
      summary:
        'Newer prices of some models are doubted, and the old ones stand: `tallygate prices doubts`, then `prices accept`.',
    },
  ],
}
