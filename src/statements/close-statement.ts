import type { UtcMonth } from '../domain/utc-month.ts'
import { conflict } from '../operations/refuse.ts'
import {
  inTransaction,
  type Postgres,
  type PostgresSession,
  sqlErrorOf,
} from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import type { OpenEndName } from './open-ends.ts'
import { readStatement, selectClosedMonths } from './select-statement.ts'
import { type SignedText, signText } from './signed-statement.ts'
import { type StatementDocument, statementDocument } from './statement-document.ts'
import { addReceipts } from './statement-receipts.ts'

export interface ClosedStatement extends SignedText {
  readonly month: UtcMonth
  readonly clientId: string
  readonly closedAt: Date
  readonly closedBy: string
}

interface ClosedRow {
  readonly client_id: string
  readonly month: UtcMonth
  readonly document: string
  readonly sha256: Buffer
  readonly signature: Buffer
  readonly public_key: Buffer
  readonly closed_at: Date
  readonly closed_by: string
}

const COLUMNS = 'client_id, month, document, sha256, signature, public_key, closed_at, closed_by'

/** `null`: the month is not closed. */
export async function findClosed(
  pool: Postgres | PostgresSession,
  clientId: string,
  month: UtcMonth,
): Promise<ClosedStatement | null> {
  const { rows } = await pool.query<ClosedRow>(
    `select ${COLUMNS} from ${SCHEMA}.statements where client_id = $1 and month = $2`,
    [clientId, month],
  )
  return rows.map(closedFrom)[0] ?? null
}

/** What a list says of a closed month. */
export interface ClosedMonth {
  readonly clientId: string
  /** The client's name when the month was closed. */
  readonly client: string
  readonly month: UtcMonth
  readonly totalUsd: string
  readonly closedAt: Date
  readonly closedBy: string
  readonly sha256: Buffer
}

/** The newest month first, by client. At most 1,000, without their documents: those may be large. `null`: of all. */
export async function selectClosed(
  pool: Postgres,
  clientId: string | null,
  month: UtcMonth | null,
): Promise<readonly ClosedMonth[]> {
  const { rows } = await pool.query<ClosedMonth>(
    `select client_id as "clientId", document::json->>'client' as client, month,
       document::json->>'total_usd' as "totalUsd", closed_at as "closedAt", closed_by as "closedBy", sha256
     from ${SCHEMA}.statements where ($1::text is null or client_id = $1) and ($2::text is null or month = $2)
     order by month desc, client_id limit 1000`,
    [clientId, month],
  )
  return rows
}

/**
 * Freezes a client's month. What changes its calls' cost from now on is carried over to the next month.
 *
 * @param accepted What may still change it, and is taken as it is.
 * @throws {GatewayError} `conflict`: it or a later month is closed, or an earlier one that has usage or charges is not.
 */
export async function closeStatement(
  pool: Postgres,
  client: { readonly id: string; readonly name: string },
  month: UtcMonth,
  how: {
    readonly accepted: readonly OpenEndName[]
    readonly who: string
    readonly pepper: string
    readonly nowMs: number
  },
): Promise<ClosedStatement> {
  const closing = inTransaction(pool, async (session) => {
    await session.query('set transaction isolation level repeatable read')
    // One after another: the snapshot of all that is read begins behind this lock, and has what the last one closed.
    await session.query(`lock table ${SCHEMA}.statements in share row exclusive mode`)
    const previous = await findPrevious(session, client, month)
    const statement = await readStatement(session, client, month)
    const receipts = await addReceipts(session, client.id, month)
    const document = JSON.stringify(
      statementDocument(statement, {
        accepted: how.accepted,
        closedAt: new Date(how.nowMs),
        previous: previous?.sha256 ?? null,
        receipts,
      }) satisfies StatementDocument,
    )
    const signed = signText(document, how.pepper)
    const carried = statement.carried.map((it) => ({ month: it.month, pico: it.amountPico.toString() }))
    const charges = Object.fromEntries(statement.charges.map((it) => [it.id, it.amountPico.toString()]))
    const { rows } = await session.query<ClosedRow>(
      `insert into ${SCHEMA}.statements
         (client_id, month, document, sha256, signature, public_key, cost_pico, carried, charges,
          closed_by)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning ${COLUMNS}`,
      [
        ...[client.id, month, document, signed.sha256, signed.signature, signed.publicKey],
        ...[statement.costPico.toString(), JSON.stringify(carried), JSON.stringify(charges), how.who],
      ],
    )
    const [closed] = rows.map(closedFrom)
    if (closed === undefined) throw new Error('a statement was not kept')
    return closed
  })
  try {
    return await closing
  } catch (error) {
    if (sqlErrorOf(error)?.code !== LOCK_NOT_AVAILABLE) throw error
    throw conflict('Other statements are being closed: try again.', 'month')
  }
}

const LOCK_NOT_AVAILABLE = '55P03'

/** The statement before. @throws {GatewayError} `conflict`: this month is not the next to be closed. */
async function findPrevious(
  session: PostgresSession,
  client: { readonly id: string; readonly name: string },
  month: UtcMonth,
): Promise<ClosedStatement | null> {
  const { last, open } = await selectClosedMonths(session, client.id)
  if (last !== null && last >= month)
    throw conflict(`The statements of ${client.name} are closed up to ${last}.`, 'month')
  if (open !== null && open < month)
    throw conflict(`${client.name} has usage or charges in ${open}, which is not closed yet.`, 'month')
  return last === null ? null : await findClosed(session, client.id, last)
}

function closedFrom(row: ClosedRow): ClosedStatement {
  return {
    clientId: row.client_id,
    month: row.month,
    document: row.document,
    sha256: row.sha256,
    signature: row.signature,
    publicKey: row.public_key,
    closedAt: row.closed_at,
    closedBy: row.closed_by,
  }
}
