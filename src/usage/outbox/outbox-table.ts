import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import {
  inTransaction,
  type Postgres,
  type PostgresSession,
  sqlStateOf,
} from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** An event on its way, and the key that its order is kept by. */
export interface KeyedEvent {
  readonly key: string
  /** JSON, in one line. */
  readonly event: string
}

/** A row of the outbox. */
interface OutboxPage {
  readonly events: number
  /** What `unpackPage` reads. */
  readonly body: Buffer
}

/** More would make a page that takes long to send, fewer would compress worse. */
const EVENTS_A_PAGE = 1_000

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
/** The fastest: events are alike, so more effort gains little. */
const FASTEST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/**
 * The events of these as pages, in their order, a page's events in memory at a time. Compressed they take a
 * fifth to a tenth, on a thread of zlib's.
 */
export async function packPages<Item>(
  items: readonly Item[],
  eventOf: (item: Item) => KeyedEvent,
): Promise<OutboxPage[]> {
  const pages: OutboxPage[] = []
  for (let from = 0; from < items.length; from += EVENTS_A_PAGE) {
    const some = items.slice(from, from + EVENTS_A_PAGE)
    let text = ''
    // Neither is in JSON as it stands: a key and its event end where they seem to.
    for (const each of some) {
      const { key, event } = eventOf(each)
      text += `${JSON.stringify(key)}\t${event}\n`
    }
    pages.push({ events: some.length, body: await compress(text, FASTEST) })
  }
  return pages
}

/** @throws When the page is not one of `packPages`. */
export async function unpackPage(body: Buffer): Promise<KeyedEvent[]> {
  const text = (await decompress(body)).toString()
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const tab = line.indexOf('\t')
      return { key: String(JSON.parse(line.slice(0, tab))), event: line.slice(tab + 1) }
    })
}

/** A page as it waits. */
export interface WaitingPage extends OutboxPage {
  /** Rises from one transaction of a shard to its next. */
  readonly id: string
}

/** Adds pages in one statement, in their order. */
export async function addPages(session: PostgresSession, pages: readonly OutboxPage[]): Promise<void> {
  // A parameter each: a buffer goes over as it is, and in an array as text of twice its size.
  const rows = pages.map((_page, index) => `($${2 * index + 1}, $${2 * index + 2})`)
  await session.query(
    `insert into ${SCHEMA}.call_outbox (events, body) values ${rows.join(', ')}`,
    pages.flatMap(({ events, body }) => [events, body]),
  )
}

/** Pages that are looked at together; single calls of a quiet deployment have a page each. */
const PAGES = 500

/**
 * The first pages behind `after`, in the order in which they are to be sent, up to so many events, but at least one
 * page. A page with a lower id may still appear, when its transaction commits later: no reader may pass over it for
 * good.
 */
export async function selectPages(
  pool: Postgres,
  after: string,
  maxEvents: number,
): Promise<readonly WaitingPage[]> {
  const { rows } = await pool.query<WaitingPage>(
    `select id, events, body from
       (select id, events, body, sum(events) over (order by id) as total from
         (select id, events, body from ${SCHEMA}.call_outbox where id > $1 order by id limit ${PAGES}) first) counted
     where total <= $2 or total = events
     order by id`,
    [after, maxEvents],
  )
  return rows
}

/** Takes pages out that the brokers have, and counts their calls as sent, in one statement. */
export async function deletePages(pool: Postgres, ids: readonly string[]): Promise<void> {
  await pool.query(
    `with gone as (delete from ${SCHEMA}.call_outbox where id = any($1::bigint[]) returning events)
     update ${SCHEMA}.call_outbox_state
     set sent_calls = sent_calls + (select coalesce(sum(events), 0) from gone), sent_at = now(), problem = null`,
    [ids],
  )
}

/** An empty table that is not larger than this is left as it is. */
const SMALL_BYTES = 64 * 1024 * 1024
const LOCK_NOT_AVAILABLE = '55P03'
const NO_PRIVILEGE = '42501'

/**
 * Gives the disk back what a long backlog took, also while an old snapshot keeps vacuum from it. Does nothing where
 * that would wait for another transaction, or where pages are left.
 *
 * @returns Whether it was done.
 */
export async function truncateOutbox(pool: Postgres, smallBytes = SMALL_BYTES): Promise<boolean> {
  const { rows } = await pool.query<{ bytes: string }>(
    `select pg_total_relation_size('${SCHEMA}.call_outbox') as bytes`,
  )
  if (Number(rows[0]?.bytes ?? 0) <= smallBytes) return false
  try {
    return await inTransaction(pool, async (session) => {
      // At once or not at all: a roll-up behind this one in the queue for the lock would wait too.
      await session.query(`lock table ${SCHEMA}.call_outbox in access exclusive mode nowait`)
      const left = await session.query(`select from ${SCHEMA}.call_outbox limit 1`)
      if (left.rowCount === 0) await session.query(`truncate ${SCHEMA}.call_outbox`)
      return left.rowCount === 0
    })
  } catch (error) {
    const state = sqlStateOf(error)
    // Without the right to truncate, vacuum has to do.
    if (state === LOCK_NOT_AVAILABLE || state === NO_PRIVILEGE) return false
    throw error
  }
}
