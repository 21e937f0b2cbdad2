import type { Postgres } from '../../src/store/connection/postgres.ts'

/** A client with a key, whose ids are their names. */
export async function addAccount(pool: Postgres, client: string, ...keys: readonly string[]): Promise<void> {
  await pool.query(`insert into tallygate.clients (id, name, version) values ($1, $1, 1)`, [client])
  for (const key of keys)
    await pool.query(
      `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
       values ($1, $2, '', '', sha256($1::text::bytea), '', 1)`,
      [key, client],
    )
}

export interface TestBudget {
  readonly client?: string | null
  readonly key?: string | null
  readonly model?: string | null
  readonly per: 'day' | 'week' | 'month' | 'total'
  /** Pico-USD. */
  readonly amount: bigint
  readonly soft?: boolean
  readonly since?: string | null
}

/** @returns its id */
export async function addBudget(pool: Postgres, budget: TestBudget): Promise<string> {
  const { client = null, key = null, model = null, per, amount, soft = false, since = null } = budget
  const { rows } = await pool.query<{ id: string }>(
    `insert into tallygate.limits (client_id, key_id, model, kind, amount, per, soft, since, version)
     values ($1, $2, $3, 'budget', $4, $5, $6, $7, 1) returning id`,
    [client, key, model, amount, per, soft, since],
  )
  return rows[0]?.id ?? ''
}

export interface TestSpending {
  readonly client: string
  readonly key?: string
  readonly model?: string
  readonly day: string
  readonly costPico: bigint
  readonly adjustedPico?: bigint
}

/** Adds rows of totals, and reopens their days. */
export async function addSpending(pool: Postgres, spending: readonly TestSpending[]): Promise<void> {
  const columns = await pool.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_schema = 'tallygate' and table_name = 'daily_usage' and is_nullable = 'NO'
       and data_type in ('bigint', 'numeric') and column_name not in ('cost_pico', 'adjusted_pico')`,
  )
  const names = columns.rows.map(({ name }) => name)
  const days = [...new Set(spending.map(({ day }) => day))]
  await pool.query('select tallygate.add_usage_months($1)', [days])
  await pool.query('delete from tallygate.summarised_days where day = any($1)', [days])
  await pool.query(
    `delete from tallygate.summarised_months m using unnest($1::date[]) d (day)
     where m.month = date_trunc('month', d.day::timestamp)::date`,
    [days],
  )
  await pool.query(
    `insert into tallygate.daily_usage as u
       (day, client_id, key_id, model, upstream, provider, cost_pico, adjusted_pico, ${names.join(', ')})
     select day, client, key, model, 'default', 'openai', sum(cost), sum(adjusted), ${names.map(() => '0').join(', ')}
     from unnest($1::date[], $2::text[], $3::text[], $4::text[], $5::numeric[], $6::numeric[])
       s (day, client, key, model, cost, adjusted)
     group by day, client, key, model
     on conflict (day, tallygate.daily_key_hash(client_id, key_id, model, upstream, price_id))
     do update set cost_pico = u.cost_pico + excluded.cost_pico,
       adjusted_pico = u.adjusted_pico + excluded.adjusted_pico`,
    [
      spending.map(({ day }) => day),
      spending.map(({ client }) => client),
      spending.map(({ key }) => key ?? 'k'),
      spending.map(({ model }) => model ?? 'gpt-4o'),
      spending.map(({ costPico }) => `${costPico}`),
      spending.map(({ adjustedPico = 0n }) => `${adjustedPico}`),
    ],
  )
}
