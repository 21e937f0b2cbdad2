import { hashedUuid } from '../../call/hashed-uuid.ts'
import { usdTextOf } from '../../domain/pico-usd.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type DailyKey, type DailyKeyRow, KEY_RECORD, keyFrom, keyIn, keyText } from '../daily-key.ts'
import { KEY_DIMENSIONS } from '../dimensions.ts'
import { cloudEvent, textMember } from './cloud-event.ts'

/** What an adjustment adds in all to one row of `daily_usage`, as of now: late calls may have added to it. */
export interface SentAdjustment {
  readonly key: DailyKey
  readonly adjustmentId: string
  readonly kind: string
  readonly who: string
  readonly why: string
  readonly client: string
  /** `null`: for no key, or for one that is no longer known. */
  readonly keyName: string | null
  /** In 1e-12 USD. */
  readonly pico: string
  readonly pricedCalls: string
  /** When it last changed, RFC 3339 with microseconds: of two events of one entry the later one holds. */
  readonly time: string
}

type SqlRow = DailyKeyRow & {
  readonly adjustment_id: string
  readonly kind: string
  readonly who: string
  readonly why: string
  readonly client: string
  readonly key_name: string | null
  readonly pico: string
  readonly priced_calls: string
  readonly time: string
}

const SELECT = `
select e.adjustment_id, ${keyIn('e')}, e.pico, e.priced_calls, a.kind, a.who, a.why,
  to_char(e.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time,
  coalesce(c.name, e.client_id) as client, k.name as key_name
from ${SCHEMA}.adjustment_entries e
join ${SCHEMA}.adjustments a on a.id = e.adjustment_id
left join ${SCHEMA}.clients c on c.id = e.client_id
left join ${SCHEMA}.keys k on k.id = e.key_id`

/** In the order of the entries' own key. */
const ORDER = `e.adjustment_id, ${keyIn('e')}`

/**
 * The entries of an adjustment in these rows.
 *
 * @param keys JSON of `KEY_RECORD`s.
 */
export async function selectSentAdjustments(
  session: PostgresSession,
  adjustmentId: string,
  keys: string,
): Promise<readonly SentAdjustment[]> {
  const { rows } = await session.query<SqlRow>(
    `${SELECT} join json_to_recordset($1) as r (${KEY_RECORD}) on (${keyIn('r')}) = (${keyIn('e')})
     where e.adjustment_id = $2 order by ${ORDER}`,
    [keys, adjustmentId],
  )
  return rows.map(sentFrom)
}

/** Entries in memory at a time. */
const PAGE = 2_000

const PARAMETERS = [
  '$3::bigint',
  ...KEY_DIMENSIONS.map(({ type = 'text' }, index) => `$${index + 4}::${type}`),
]

/** The entries of a day, of all clients where `clientId` is `null`, each page in a statement of its own. */
export async function* readSentAdjustments(
  pool: Postgres,
  day: UtcDay,
  clientId: string | null,
): AsyncGenerator<readonly SentAdjustment[]> {
  let after: readonly string[] = ['0', ...KEY_DIMENSIONS.map(({ column }) => (column === 'day' ? day : ''))]
  for (;;) {
    const { rows } = await pool.query<SqlRow>(
      `${SELECT} where e.day = $1 and ($2::text is null or e.client_id = $2)
         and (${ORDER}) > (${PARAMETERS.join(', ')})
       order by ${ORDER} limit ${PAGE}`,
      [day, clientId, ...after],
    )
    const last = rows.at(-1)
    if (last !== undefined) yield rows.map(sentFrom)
    if (last === undefined || rows.length < PAGE) return
    after = [last.adjustment_id, ...KEY_DIMENSIONS.map(({ column }) => last[column])]
  }
}

function sentFrom(row: SqlRow): SentAdjustment {
  return {
    key: keyFrom(row),
    adjustmentId: row.adjustment_id,
    kind: row.kind,
    who: row.who,
    why: row.why,
    client: row.client,
    keyName: row.key_name,
    pico: row.pico,
    pricedCalls: row.priced_calls,
    time: row.time,
  }
}

/** The dimensions of the row, but for its client, whom the envelope names. */
const MEMBERS = KEY_DIMENSIONS.filter(({ field }) => field !== 'clientId')

/**
 * An entry of an adjustment as an event. It says what the entry comes to, not what was added last: so an event that is
 * missing is made good by the next, and one that comes twice or late changes nothing.
 */
export function adjustmentEvent(entry: SentAdjustment): string {
  const { key, adjustmentId, time } = entry
  const entryId = hashedUuid('adjustment', adjustmentId, keyText(key))
  let members =
    textMember('kind', entry.kind) +
    textMember('entry_id', entryId) +
    textMember('adjustment_id', adjustmentId)
  members += textMember('client', entry.client) + textMember('key', entry.keyName)
  for (const { field, column } of MEMBERS) members += textMember(column, key[field])
  members += `,"adjusted_usd":"${usdTextOf(entry.pico)}","priced_calls":${entry.pricedCalls}`
  members += textMember('who', entry.who) + textMember('why', entry.why)
  const id = hashedUuid('entry', entryId, time)
  return cloudEvent({ type: 'tallygate.adjustment', id, subject: key.clientId, time, members })
}
