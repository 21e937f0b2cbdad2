import type { Price } from '../pricing/price.ts'
import { parsePrice } from '../pricing/price-parse.ts'
import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

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

/** Keeps the definitions of prices, by id; the first one of an id stays. */
export async function addPrices(
  session: PostgresSession,
  prices: readonly { readonly priceId: string; readonly definition: string }[],
): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.prices (price_id, definition)
     select id, definition::jsonb from unnest($1::text[], $2::text[]) as p (id, definition)
     on conflict do nothing`,
    [prices.map(({ priceId }) => priceId), prices.map(({ definition }) => definition)],
  )
}
