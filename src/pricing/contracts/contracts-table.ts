import { randomBase62 } from '../../domain/base62.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type Contract, Contracts } from './contract.ts'

export interface KeptContract extends Contract {
  /** '': none. */
  readonly reference: string
}

export type NewContract = Omit<KeptContract, 'id'>

interface ContractRow {
  readonly id: string
  readonly upstream: string
  readonly model: string
  readonly service_tier: string
  readonly from_day: UtcDay
  readonly factor: string
  readonly prices: Contract['prices']
  readonly reference: string
}

const COLUMNS = 'id, upstream, model, service_tier, from_day, factor, prices, reference'

/** All of them, by upstream, model, tier and day. */
export async function selectContracts(session: Postgres | PostgresSession): Promise<readonly KeptContract[]> {
  const { rows } = await session.query<ContractRow>(
    `select ${COLUMNS} from ${SCHEMA}.contracts order by upstream, model, service_tier, from_day`,
  )
  return rows.map(contractFrom)
}

/** The same, to find the terms of calls by. */
export async function readContracts(session: Postgres | PostgresSession): Promise<Contracts> {
  return new Contracts(await selectContracts(session))
}

/** Sets a contract, in the place of the one of the same calls and day. */
export async function setContract(session: Postgres, contract: NewContract): Promise<KeptContract> {
  const { upstream, model, serviceTier, from, factor, prices, reference } = contract
  const { rows } = await session.query<ContractRow>(
    `insert into ${SCHEMA}.contracts as c (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (upstream, model, service_tier, from_day) do update set
       factor = excluded.factor, prices = excluded.prices, reference = excluded.reference
     returning ${COLUMNS}`,
    [
      `con_${randomBase62(20)}`,
      ...[upstream ?? '', model ?? '', serviceTier ?? '', from, factor, JSON.stringify(prices), reference],
    ],
  )
  const [kept] = rows.map(contractFrom)
  if (kept === undefined) throw new Error('a contract was not kept')
  return kept
}

/** @returns `null`: there is none of this id. */
export async function removeContract(session: Postgres, id: string): Promise<KeptContract | null> {
  const { rows } = await session.query<ContractRow>(
    `delete from ${SCHEMA}.contracts where id = $1 returning ${COLUMNS}`,
    [id],
  )
  return rows.map(contractFrom)[0] ?? null
}

function contractFrom(row: ContractRow): KeptContract {
  return {
    id: row.id,
    upstream: row.upstream || null,
    model: row.model || null,
    serviceTier: row.service_tier || null,
    from: row.from_day,
    ...{ factor: row.factor, prices: row.prices, reference: row.reference },
  }
}
