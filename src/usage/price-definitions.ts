import type { UtcDay } from '../domain/utc-day.ts'
import type { Price } from '../pricing/price.ts'
import { parsePrice } from '../pricing/price-parse.ts'
import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { reopenDays } from './days/usage-days.ts'

/**
 * The prices behind these ids. One whose definition is not kept, or does not give the id it is kept under, is
 * absent: nothing may be computed by it.
 */
export async function selectPrices(
  session: Postgres | PostgresSession,
  priceIds: Iterable<string>,
): Promise<Map<string, Price>> {
  const { rows } = await session.query<{ price_id: string; definition: string }>(
    `select price_id, definition::text as definition from ${SCHEMA}.prices where price_id = any($1)`,
    [[...priceIds]],
  )
  const prices = new Map<string, Price>()
  for (const { price_id: priceId, definition } of rows) {
    const price = parsePrice(definition)
    if (price?.id === priceId) prices.set(priceId, price)
  }
  return prices
}

/** The same, and those of the parts of calls that several models served. */
export async function selectPricesAndParts(
  session: Postgres | PostgresSession,
  priceIds: Iterable<string>,
): Promise<Map<string, Price>> {
  const prices = await selectPrices(session, priceIds)
  const parts = [...prices.values()].flatMap(({ definition }) =>
    definition.basis === 'parts' ? definition.prices : [],
  )
  if (parts.length === 0) return prices
  return new Map([...(await selectPrices(session, parts)), ...prices])
}

/**
 * Keeps the definitions of prices, by id; the first one of an id stays. One that was awaited may say that its
 * calls were priced in part only, so the days that lacked it are summed up again.
 */
export async function addPrices(
  session: PostgresSession,
  prices: readonly { readonly priceId: string; readonly definition: string }[],
): Promise<void> {
  const definitions = new Map(prices.toReversed().map(({ priceId, definition }) => [priceId, definition]))
  // In one order: shards that meet the same new prices cannot wait for one another in a circle.
  const priceIds = [...definitions.keys()].sort()
  const { rows } = await session.query<{ price_id: string }>(
    `insert into ${SCHEMA}.prices (price_id, definition)
     select id, definition::jsonb from unnest($1::text[], $2::text[]) as p (id, definition)
     on conflict do nothing returning price_id`,
    [priceIds, priceIds.map((priceId) => definitions.get(priceId))],
  )
  if (rows.length === 0) return
  const waiting = await session.query<{ day: UtcDay }>(
    `select day from ${SCHEMA}.summarised_days where unknown_prices && $1`,
    [rows.map(({ price_id }) => price_id)],
  )
  if (waiting.rows.length > 0) {
    await reopenDays(
      session,
      waiting.rows.map(({ day }) => day),
    )
  }
}

/** Lets no definition come in until the transaction ends, after waiting for those under way. */
export async function lockPrices(session: PostgresSession): Promise<void> {
  await session.query(`lock table ${SCHEMA}.prices in share mode`)
}
