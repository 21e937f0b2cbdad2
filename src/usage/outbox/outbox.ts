import type { CountedCall } from '../../call/call-record.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { CallSink } from '../calls/add-calls.ts'
import type { SettledCall } from '../daily-key.ts'
import { adjustmentEvent, selectSentAdjustments } from '../events/adjustment-event.ts'
import { callEvent, settledEvent } from '../events/call-event.ts'
import type { EventNames } from '../events/cloud-event.ts'
import { addSkipped, isOutboxInUse, selectWaitingBytes } from './outbox-state.ts'
import { addPages, packPages } from './outbox-table.ts'

export interface OutboxOptions {
  /** From this size on calls are counted and not sent. */
  readonly maxBytes: number
  /** Called when calls are left out because it is full. */
  readonly onFull?: (calls: number) => void
  /** How long its size is believed. */
  readonly checkEveryMs?: number
}

const CHECK_EVERY_MS = 5_000

/**
 * Calls that are to be sent to Kafka, in Postgres until its brokers have them: written in the transaction that counts
 * them, so that none is sent that is not counted, and none that is counted can be missing.
 */
export class Outbox implements CallSink {
  readonly #options: OutboxOptions
  readonly #checkEveryMs: number
  #isFull = false
  #checkedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: OutboxOptions) {
    this.#options = options
    this.#checkEveryMs = options.checkEveryMs ?? CHECK_EVERY_MS
  }

  async add(
    session: PostgresSession,
    calls: readonly CountedCall[],
    settled: readonly SettledCall[],
  ): Promise<number> {
    if (calls.length === 0) return 0
    const isFull = await this.#checkWhetherFull(session)
    const sent: readonly CountedCall[] = isFull ? NONE : calls
    const names = await selectNames(session, [...sent, ...settled])
    const pages = [
      ...(await packPages(sent, (call) => {
        const { clientId, keyId } = call
        const event = callEvent(call, names.get(clientId) ?? clientId, names.get(keyId) ?? null)
        return { key: clientId, event }
      })),
      // Of the few there are none is left out: their calls may have been sent long ago.
      ...(await packPages(settled, (call) => ({ key: call.clientId, event: settledEvent(call, names) }))),
    ]
    if (pages.length > 0) await addPages(session, pages)
    if (!isFull) return 0
    await addSkipped(session, byDay(calls))
    this.#options.onFull?.(calls.length)
    return calls.length
  }

  async #checkWhetherFull(session: PostgresSession): Promise<boolean> {
    const nowMs = performance.now()
    if (nowMs - this.#checkedAtMs >= this.#checkEveryMs) {
      this.#isFull = (await selectWaitingBytes(session)) >= this.#options.maxBytes
      this.#checkedAtMs = nowMs
    }
    return this.#isFull
  }
}

/**
 * Has an adjustment's entries in these rows sent, in the transaction that adds to them, where a worker sends calls. They
 * are few, so a full outbox takes them too.
 *
 * @param keys JSON of the rows' keys.
 */
export async function sendAdjustment(
  session: PostgresSession,
  adjustmentId: string,
  keys: string,
): Promise<void> {
  if (!(await isOutboxInUse(session))) return
  const entries = await selectSentAdjustments(session, adjustmentId, keys)
  await addPages(
    session,
    await packPages(entries, (each) => ({ key: each.key.clientId, event: adjustmentEvent(each) })),
  )
}

/** Of clients and keys. */
async function selectNames(
  session: PostgresSession,
  calls: readonly Pick<CountedCall, 'clientId' | 'keyId'>[],
): Promise<EventNames> {
  const clients = new Set(calls.map(({ clientId }) => clientId))
  const keys = new Set(calls.map(({ keyId }) => keyId))
  const { rows } = await session.query<{ id: string; name: string }>(
    `select id, name from ${SCHEMA}.clients where id = any($1)
     union all select id, name from ${SCHEMA}.keys where id = any($2)`,
    [[...clients], [...keys]],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

const NONE: readonly never[] = []

function byDay(calls: readonly CountedCall[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { arrivedAtMs } of calls) {
    const day = utcDayOf(arrivedAtMs)
    counts.set(day, (counts.get(day) ?? 0) + 1)
  }
  return counts
}
