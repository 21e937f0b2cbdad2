import { randomBase62 } from '../../domain/base62.ts'
import type { Period } from '../../domain/period.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { Charge, ChargeCategory, ChargePart, NewCharge, TokensByClient } from './charge.ts'

type Session = Postgres | PostgresSession

interface ChargeRow {
  readonly id: string
  readonly name: string
  readonly category: ChargeCategory
  readonly from_day: UtcDay
  readonly to_day: UtcDay
  readonly service: string
  readonly upstream: string
  readonly model: string
  readonly client_id: string | null
  readonly client: string | null
  readonly quantity: string
  readonly unit: string
  readonly capacity_tokens: string | null
  readonly amount_pico: string
  readonly reason: string
  readonly shared_from: string | null
  readonly part: ChargePart | null
}

const WRITTEN = `name, category, from_day, to_day, service, upstream, model, client_id, quantity, unit,
  capacity_tokens, amount_pico, reason`
const SELECT = `
select h.id, ${WRITTEN.replace('name,', 'h.name,')}, shared_from, part, c.name as client
from ${SCHEMA}.charges h left join ${SCHEMA}.clients c on c.id = h.client_id`

/** Which charges are asked for: those whose first day is in a period, of one client or of all. */
export interface ChargeScope {
  readonly period: Period
  /** `null`: of all, and of none. */
  readonly clientId: string | null
}

/** By day and name. */
export async function selectCharges(
  session: Session,
  { period, clientId }: ChargeScope,
): Promise<readonly Charge[]> {
  const { rows } = await session.query<ChargeRow>(
    `${SELECT} where h.removed_at is null and h.from_day between $1 and $2 and ($3::text is null or h.client_id = $3)
     order by h.from_day, h.name`,
    [period.fromDay, period.toDay, clientId],
  )
  return rows.map(chargeFrom)
}

/** Keeps what no client pays of a period as it is until the transaction ends. */
export async function lockUnassigned(session: Session, { fromDay, toDay }: Period): Promise<void> {
  await session.query(
    `select from ${SCHEMA}.charges
     where removed_at is null and client_id is null and from_day between $1 and $2 order by id for update`,
    [fromDay, toDay],
  )
}

/** `null`: there is none of this name. */
export async function findCharge(session: Session, name: string): Promise<Charge | null> {
  const { rows } = await session.query<ChargeRow>(
    `${SELECT} where h.removed_at is null and h.name = $1 for update of h`,
    [name],
  )
  return rows.map(chargeFrom)[0] ?? null
}

/** Sets a charge, in the place of the one of the same name. */
export async function setCharge(session: Session, charge: NewCharge): Promise<void> {
  const fields = WRITTEN.split(/,\s+/)
  await session.query(
    `insert into ${SCHEMA}.charges (id, ${WRITTEN})
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
     on conflict (name) where removed_at is null do update set
       ${fields.map((field) => `${field} = excluded.${field}`).join(', ')}`,
    [`chg_${randomBase62(20)}`, ...written(charge)],
  )
}

function written(charge: NewCharge): readonly unknown[] {
  const { name, category, from, to, service, upstream, model, clientId, quantity, unit, reason } = charge
  return [
    ...[name, category, from, to, service, upstream ?? '', model ?? '', clientId, quantity ?? '', unit ?? ''],
    ...[charge.capacityTokens?.toString() ?? null, charge.amountPico.toString(), reason],
  ]
}

/** A part of a charge that a client has. */
export interface SharedPart {
  readonly clientId: string
  readonly part: ChargePart
  readonly amountPico: bigint
}

/** Keeps the parts of a charge as charges of their clients. `false`: another charge has the name of one of them. */
export async function addParts(
  session: Session,
  charge: Charge,
  parts: readonly SharedPart[],
  reason: string,
): Promise<boolean> {
  const { rowCount } = await session.query(
    `insert into ${SCHEMA}.charges (id, ${WRITTEN}, shared_from, part)
     select p.id, h.name || '/' || p.part || '/' || p.client_id, h.category, h.from_day, h.to_day, h.service, h.upstream,
       h.model, p.client_id, '', '', null, p.pico, $3, h.id, p.part
     from ${SCHEMA}.charges h,
       json_to_recordset($2) as p (id text, client_id text, part text, pico numeric) where h.id = $1
     on conflict (name) where removed_at is null do nothing`,
    [
      charge.id,
      JSON.stringify(
        parts.map(({ clientId, part, amountPico }) => ({
          ...{ id: `chg_${randomBase62(20)}`, client_id: clientId, part, pico: amountPico.toString() },
        })),
      ),
      reason,
    ],
  )
  return rowCount === parts.length
}

/** Whether parts of it were shared out. */
export async function isShared(session: Session, id: string): Promise<boolean> {
  const { rows } = await session.query(
    `select from ${SCHEMA}.charges where shared_from = $1 and removed_at is null limit 1`,
    [id],
  )
  return rows.length > 0
}

/** Removes a charge and its parts. They stay in the table: statements may have them. */
export async function removeCharge(session: Session, id: string): Promise<void> {
  await session.query(
    `update ${SCHEMA}.charges set removed_at = now() where removed_at is null and (id = $1 or shared_from = $1)`,
    [id],
  )
}

/** The tokens of each client that a commitment covered. */
export async function selectCovered(
  session: Session,
  { from, to, upstream, model }: Pick<NewCharge, 'from' | 'to' | 'upstream' | 'model'>,
): Promise<TokensByClient> {
  const isPrefix = model?.endsWith('*') === true
  const { rows } = await session.query<{ client_id: string; tokens: string }>(
    `select client_id, sum(input_tokens + output_tokens)::text as tokens from ${SCHEMA}.daily_usage
     where client_id in (select id from ${SCHEMA}.clients) and day between $1 and $2 and upstream = $3 and ${isPrefix ? 'starts_with(model, $4)' : `(model = $4 or $4 = '')`}
     group by client_id`,
    [from, to, upstream ?? '', isPrefix ? model.slice(0, -1) : (model ?? '')],
  )
  return new Map(rows.map(({ client_id: id, tokens }) => [id, BigInt(tokens)]))
}

/** What a charge is shared out by: tokens, what clients pay, or to each client the same. */
export const SHARE_KEYS = ['tokens', 'cost', 'clients'] as const
export type ShareKey = (typeof SHARE_KEYS)[number]

const WEIGHTS: Readonly<Record<ShareKey, string>> = {
  tokens: 'sum(input_tokens + output_tokens)',
  cost: 'sum(cost_pico + adjusted_pico)',
  clients: '1',
}

/** The weight of each client that used something in a period. */
export async function selectWeights(
  session: Session,
  { fromDay, toDay }: Period,
  key: ShareKey,
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await session.query<{ client_id: string; weight: string }>(
    `select client_id, (${WEIGHTS[key]})::text as weight from ${SCHEMA}.daily_usage
     where day between $1 and $2 and client_id in (select id from ${SCHEMA}.clients)
     group by client_id having sum(requests) > 0`,
    [fromDay, toDay],
  )
  return new Map(rows.map(({ client_id: id, weight }) => [id, BigInt(weight)]))
}

function chargeFrom(row: ChargeRow): Charge {
  return {
    ...{ id: row.id, name: row.name, category: row.category, from: row.from_day, to: row.to_day },
    ...{ service: row.service, upstream: row.upstream || null, model: row.model || null },
    ...{
      clientId: row.client_id,
      client: row.client,
      quantity: row.quantity || null,
      unit: row.unit || null,
    },
    capacityTokens: row.capacity_tokens === null ? null : BigInt(row.capacity_tokens),
    amountPico: BigInt(row.amount_pico),
    ...{ reason: row.reason, sharedFrom: row.shared_from, part: row.part },
  }
}
