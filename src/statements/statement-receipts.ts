import { picoToUsdText } from '../domain/pico-usd.ts'
import type { UtcDay } from '../domain/utc-day.ts'
import { daysOfMonth, type UtcMonth } from '../domain/utc-month.ts'
import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { type CallRow, fieldsFrom } from '../usage/calls/call-columns.ts'
import { findReceipt } from '../usage/calls/explain-cost.ts'
import { hashLeaf, pathOf, rootOf } from './merkle-tree.ts'
import type { Inclusion, Receipt, SignedReceipt } from './receipt-document.ts'
import { type CountedReceipt, leafText, receiptText } from './receipt-text.ts'
import { signText } from './signed-statement.ts'

/** Leaves in a row of `statement_receipts`: a power of two. A path is made of one chunk and of the roots of all. */
const CHUNK = 1_024
const ID_BYTES = 16
const HASH_BYTES = 32

const FIELDS = [
  'callId',
  'arrivedAtMs',
  'model',
  'status',
  'outcome',
  'usageSource',
  'usageRaw',
  'costPico',
] as const

const DECLARE = `declare receipts no scroll cursor for
select * from ${SCHEMA}.calls where client_id = $1 and day between $2 and $3 order by day, call_id`

const ADD = `insert into ${SCHEMA}.statement_receipts (client_id, month, chunk, first_day, first_call, calls, hashes, root)
values ($1, $2, $3, $4, $5, $6, $7, $8)`

/** The receipts that a statement is made of. */
export interface StatedReceipts {
  readonly count: number
  readonly root: Buffer
}

/** Keeps the hashes of all receipts of a client's month, as far as single calls are kept. */
export async function addReceipts(
  session: PostgresSession,
  clientId: string,
  month: UtcMonth,
): Promise<StatedReceipts> {
  const { from, to } = daysOfMonth(month)
  await session.query(DECLARE, [clientId, from, to])
  const roots: Buffer[] = []
  let count = 0
  for (;;) {
    const { rows } = await session.query<CallRow & { readonly day: UtcDay }>(`fetch ${CHUNK} from receipts`)
    const [first] = rows
    if (first === undefined) break
    const receipts = rows.map(countedReceipt)
    const hashes = receipts.map((receipt) => hashLeaf(leafText(receipt)))
    const ids = receipts.map(({ call_id: id }) => bytesOfId(id))
    const root = rootOf(hashes)
    await session.query(ADD, [
      ...[clientId, month, roots.length, first.day, receipts[0]?.call_id],
      ...[Buffer.concat(ids), Buffer.concat(hashes), root],
    ])
    roots.push(root)
    count += rows.length
    if (rows.length < CHUNK) break
  }
  await session.query('close receipts')
  return { count, root: rootOf(roots) }
}

function countedReceipt(row: CallRow): CountedReceipt {
  const call = fieldsFrom(row, FIELDS)
  return {
    call_id: call.callId,
    arrived_at: new Date(call.arrivedAtMs).toISOString(),
    model: call.model,
    status: call.status,
    outcome: call.outcome,
    usage_source: call.usageSource,
    usage: call.usageRaw ?? null,
    cost_usd: call.costPico === null ? null : picoToUsdText(BigInt(call.costPico)),
  }
}

function bytesOfId(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

const FIND_CHUNK = `select chunk, calls, hashes from ${SCHEMA}.statement_receipts
where client_id = $1 and month = $2 and (first_day, first_call) <= ($3::date, $4::uuid)
order by first_day desc, first_call desc limit 1`

const SELECT_ROOTS = `select root, length(hashes) as bytes from ${SCHEMA}.statement_receipts
where client_id = $1 and month = $2 order by chunk`

/** How a call of a closed month is included in its statement. `null`: it is not. */
async function findInclusion(
  pool: Postgres,
  clientId: string,
  { call_id: id, arrived_at: arrivedAt }: Receipt,
): Promise<Inclusion | null> {
  const day = arrivedAt.slice(0, 10)
  const month = day.slice(0, 7)
  const found = await pool.query<{ chunk: number; calls: Buffer; hashes: Buffer }>(FIND_CHUNK, [
    ...[clientId, month, day, id],
  ])
  const [one] = found.rows
  if (one === undefined) return null
  const wanted = bytesOfId(id)
  const place = piecesOf(one.calls, ID_BYTES).findIndex((call) => call.equals(wanted))
  if (place === -1) return null
  const { rows } = await pool.query<{ root: Buffer; bytes: number }>(SELECT_ROOTS, [clientId, month])
  const path = [
    ...pathOf(piecesOf(one.hashes, HASH_BYTES), place),
    ...pathOf(
      rows.map(({ root }) => root),
      one.chunk,
    ),
  ]
  return {
    month,
    place: one.chunk * CHUNK + place,
    count: rows.reduce((sum, { bytes }) => sum + bytes, 0) / HASH_BYTES,
    path: path.map((hash) => hash.toString('hex')),
  }
}

function piecesOf(bytes: Buffer, length: number): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += length) pieces.push(bytes.subarray(at, at + length))
  return pieces
}

/**
 * What a call of this client cost, signed, and how it is included in the statement of its month. `null`: the client
 * has no such call that is kept.
 *
 * @param peppers The first one signs; none: nothing does.
 */
export async function findSigned(
  pool: Postgres,
  clientId: string,
  id: string,
  [pepper]: readonly string[],
): Promise<SignedReceipt | null> {
  const receipt = await findReceipt(pool, clientId, id)
  if (receipt === null) return null
  const unsigned = { ...receipt, signature: null, public_key: null, inclusion: null }
  const inclusion = await findInclusion(pool, clientId, receipt)
  if (pepper === undefined) return { ...unsigned, inclusion }
  const { signature, publicKey } = signText(receiptText(unsigned), pepper)
  return {
    ...receipt,
    signature: signature.toString('base64'),
    public_key: publicKey.toString('base64'),
    inclusion,
  }
}
