import type { CountedCall } from '../../call/call-record.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { CallSink } from '../calls/add-calls.ts'
import { totalledUnder } from '../daily-key.ts'
import { cloudEvent } from '../export/export-cloudevents.ts'
import { laterDimensions } from '../export/export-columns.ts'
import { addSkipped, selectWaitingBytes } from './outbox-state.ts'
import { addPages, type KeyedEvent, packPages } from './outbox-table.ts'

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

  async add(session: PostgresSession, calls: readonly CountedCall[]): Promise<number> {
    if (calls.length === 0) return 0
    if (await this.#checkWhetherFull(session)) {
      await addSkipped(session, byDay(calls))
      this.#options.onFull?.(calls.length)
      return calls.length
    }
    const names = await selectNames(session, calls)
    await addPages(session, await packPages(calls.map((call) => eventOf(call, names))))
    return 0
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

/** The same event as `usage export --format cloudevents` has for the call. */
function eventOf(call: CountedCall, names: ReadonlyMap<string, string>): KeyedEvent {
  const event = cloudEvent({
    ...call,
    // `calls` has them in one column.
    responseId: call.responseId ?? call.answerId ?? null,
    client: names.get(call.clientId) ?? call.clientId,
    reportedBy: call.settlement?.reportedBy ?? null,
    settles: call.settlement?.settles ?? null,
    laterDimensions: laterDimensions(({ field }) => totalledUnder(call, field)),
  })
  return { key: call.clientId, event }
}

async function selectNames(
  session: PostgresSession,
  calls: readonly CountedCall[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(calls.map(({ clientId }) => clientId))
  const { rows } = await session.query<{ id: string; name: string }>(
    `select id, name from ${SCHEMA}.clients where id = any($1)`,
    [[...ids]],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

function byDay(calls: readonly CountedCall[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { arrivedAtMs } of calls) {
    const day = utcDayOf(arrivedAtMs)
    counts.set(day, (counts.get(day) ?? 0) + 1)
  }
  return counts
}
