import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction } from '../../src/store/connection/postgres.ts'
import { addPrices } from '../../src/usage/price-definitions.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
})
afterAll(() => ledger.drop())

test('shards that meet the same new prices in different orders do not wait for one another in a circle', async () => {
  // Each row takes a while, so that both statements are under way at once.
  await ledger.pool.query(
    `create function tallygate.be_slow() returns trigger language plpgsql as
     $$ begin perform pg_sleep(0.2); return new; end $$`,
  )
  await ledger.pool.query(
    'create trigger slow before insert on tallygate.prices for each row execute function tallygate.be_slow()',
  )
  const prices = ['a', 'b', 'c'].map((priceId) => ({ priceId, definition: `{"id": "${priceId}"}` }))
  await Promise.all(
    [prices, prices.toReversed()].map((met) =>
      inTransaction(ledger.pool, (session) => addPrices(session, [...met, ...met])),
    ),
  )
  const { rows } = await ledger.pool.query('select price_id from tallygate.prices order by 1')
  expect(rows).toEqual(prices.map(({ priceId }) => ({ price_id: priceId })))
})
