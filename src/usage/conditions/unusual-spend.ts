import { dailyOccurrence, type Occurrence, type WatchedDays } from '../../domain/conditions/condition.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** The same weekday of so many weeks before; of these, so many with use at least. */
const WEEKS = 8
const LEAST_WEEKS = 4
/** A day is unusual beyond so many deviations above the median. */
const DEVIATIONS = 6
/** The part of the median that is the least a deviation is taken to be: few days say little of how far they scatter. */
const LEAST_DEVIATION = 0.25
/** The median of absolute deviations, times this, is the standard deviation of what is normally distributed. */
const MAD_TO_DEVIATION = 1.4826
/** Beyond what is usual by this much: pico-USD. */
const LEAST_PICO = 5_000_000_000_000n
const MOST = 20

/**
 * What is usual by the days before, where `pico` is far beyond that; `null`: it is not, or too little is known.
 *
 * By the median and the median of deviations, which one unusual day among those before moves little. Over days that
 * scatter as those of test/usage/unusual-spend.test.ts one in 2,600 is taken for unusual wrongly.
 */
export function usualBeside(pico: bigint, before: readonly bigint[]): bigint | null {
  const used = before.filter((one) => one > 0n).map(Number)
  if (used.length < LEAST_WEEKS) return null
  const usual = medianOf(used)
  const scatter = medianOf(used.map((one) => Math.abs(one - usual))) * MAD_TO_DEVIATION
  const most = usual + DEVIATIONS * Math.max(scatter, LEAST_DEVIATION * usual)
  const isUnusual = Number(pico) > most && Number(pico) - usual > Number(LEAST_PICO)
  return isUnusual ? BigInt(Math.round(usual)) : null
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? 0) + upper) / 2
}

interface SpentRow {
  readonly client_id: string
  readonly client: string
  /** `null`: by all keys of the client. */
  readonly key_id: string | null
  readonly pico: string
  readonly before: readonly string[]
}

/** Clients that have spent so much on the day, and their keys, beside the same weekday of the weeks before. */
const SELECT = `
  with spent as (
    select day, client_id, key_id, sum(cost_pico + adjusted_pico) as pico from ${SCHEMA}.daily_usage
    where day = $1 or day = any($2) group by grouping sets ((day, client_id), (day, client_id, key_id))),
  beside as (
    select client_id, key_id, sum(pico) filter (where day = $1) as pico,
      coalesce(array_agg(pico::text) filter (where day <> $1), '{}') as before
    from spent group by client_id, key_id)
  select b.client_id, c.name as client, b.key_id, b.pico, b.before
  from beside b join ${SCHEMA}.clients c on c.id = b.client_id where b.pico > $3 order by b.pico desc`

/** Yesterday is looked at as long as its calls come in. */
async function findUnusualSpend(
  pool: Postgres,
  { fromDay, today }: WatchedDays,
): Promise<readonly Occurrence[]> {
  const found = await findUnusualOn(pool, today)
  return fromDay === today ? found : [...found, ...(await findUnusualOn(pool, fromDay))]
}

async function findUnusualOn(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const before = Array.from({ length: WEEKS }, (_, week) => addDays(day, -7 * (week + 1)))
  const { rows } = await pool.query<SpentRow>(SELECT, [day, before, `${LEAST_PICO}`])
  const unusual = rows.flatMap((row) => {
    const usual = usualBeside(BigInt(row.pico), row.before.map(BigInt))
    return usual === null ? [] : [{ row, usual }]
  })
  const clients = new Set(unusual.flatMap(({ row }) => (row.key_id === null ? [row.client_id] : [])))
  // A client that is unusual itself says it once.
  const named = unusual.filter(({ row }) => row.key_id === null || !clients.has(row.client_id))
  return named.slice(0, MOST).map(({ row, usual }) => occurrenceOf(row, usual, day))
}

function occurrenceOf(
  { client_id: clientId, client, key_id: key, pico }: SpentRow,
  usual: bigint,
  day: UtcDay,
): Occurrence {
  const spent = picoToUsdText(BigInt(pico))
  const whose = key === null ? client : `The key ${key} of ${client}`
  const message = `${whose} has spent ${spent} USD on ${day}. On this weekday ${picoToUsdText(usual)} USD are usual.`
  const payload = { message, key, spent_usd: spent, usual_usd: picoToUsdText(usual) }
  return { ...dailyOccurrence(key === null ? clientId : `${clientId} ${key}`, day, payload), clientId }
}

export const UNUSUAL_SPEND: Condition = {
  name: 'unusual spend',
  place: 'postgres',
  severity: 'note',
  alert: {
    kind: 'unusual',
    meaning: 'a client or a key that spends far more than on the same weekday before',
    ofClient: true,
    when: 'often',
    finders: [({ pool }, days: WatchedDays) => findUnusualSpend(pool, days)],
  },
}
