import type { CallRecord } from '../call/call-record.ts'
import { cleanText } from '../domain/clean-text.ts'
import { parseRecord } from '../ledger/entry.ts'
import { lockCorrections } from '../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres } from '../store/connection/postgres.ts'
import { findDeadLetter, resolveDeadLetter } from '../store/ledger/dead-letters.ts'
import { callsInto, isPartitionMissing, keptCalls } from '../usage/calls/add-calls.ts'
import { selectCallDays } from '../usage/calls/call-partitions.ts'
import { Outbox } from '../usage/outbox/outbox.ts'
import { isOutboxInUse } from '../usage/outbox/outbox-state.ts'
import { countRecords, createCountingMemory } from './count-records.ts'
import { recordRefusalOf } from './rolled-up.ts'

export type Retried =
  | { readonly kind: 'counted'; readonly record: CallRecord }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'counted_before' }
  /** It stays a dead letter. */
  | { readonly kind: 'refused'; readonly reason: string }

/** Strings of a record that no store takes are cut to these lengths, cleaned of what cannot be stored. */
const MAX_BYTES = { name: 256, path: 512, raw: 8192, price: 65_536 } as const

/** A few calls more do not matter, however many wait. */
const OUTBOX = new Outbox({ maxBytes: Number.POSITIVE_INFINITY })

/**
 * Counts a dead letter's record after all, exactly once: its being counted and its being marked so are one
 * transaction. Its strings are made storable first, as that is what most of them died of.
 */
export async function retryDeadLetter(pool: Postgres, producer: string, sequence: number): Promise<Retried> {
  try {
    return await inTransaction(pool, async (session): Promise<Retried> => {
      // 1. As any correction: it may add to days that a repricing or a rebuild is looking at.
      await lockCorrections(session)
      const letter = await findDeadLetter(session, producer, sequence)
      if (letter === null) return { kind: 'unknown' }
      // 2. Of two that retry it, one waits here for the other's commit.
      if (!(await resolveDeadLetter(session, producer, sequence))) return { kind: 'counted_before' }
      const parsed = parseRecord(letter.body)
      if (parsed === null || 'void' in parsed) throw new Unreadable('its body is not a record')
      const record = storable(parsed)
      // 3. The committed offset passed its number when it became a dead letter, so nothing else can count it.
      const kept = keptCalls(await selectCallDays(session))
      const sink = callsInto(kept, (await isOutboxInUse(session)) ? [OUTBOX] : [])
      await countRecords(session, [record], sink, NONE_LOCKED, createCountingMemory())
      return { kind: 'counted', record }
    })
  } catch (error) {
    if (error instanceof Unreadable) return { kind: 'refused', reason: error.message }
    const refusal = isPartitionMissing(error) ? null : recordRefusalOf(error)
    if (refusal === null) throw error
    return { kind: 'refused', reason: `${refusal.message} (${refusal.sqlState})` }
  }
}

/** The lock of 1 is for all days. */
const NONE_LOCKED: ReadonlySet<string> = new Set()

/** Rolls the transaction back. */
class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

function storable(record: CallRecord): CallRecord {
  const name = (text: string) => cleanText(text, MAX_BYTES.name)
  const orNull = (text: string | null, maxBytes: number) => (text === null ? null : cleanText(text, maxBytes))
  return {
    ...record,
    clientId: name(record.clientId),
    keyId: name(record.keyId),
    upstream: name(record.upstream),
    provider: name(record.provider),
    method: name(record.method),
    path: cleanText(record.path, MAX_BYTES.path),
    model: name(record.model),
    requestedModel: orNull(record.requestedModel, MAX_BYTES.name),
    reportedModel: orNull(record.reportedModel, MAX_BYTES.name),
    usageRaw: orNull(record.usageRaw, MAX_BYTES.raw),
    priceId: orNull(record.priceId, MAX_BYTES.name),
    price: orNull(record.price, MAX_BYTES.price),
    responseId: orNull(record.responseId, MAX_BYTES.name),
    answerId: orNull(record.answerId ?? null, MAX_BYTES.name) ?? undefined,
    unpricedReason: orNull(record.unpricedReason ?? null, MAX_BYTES.name) ?? undefined,
    ...(record.jobs === undefined
      ? {}
      : {
          jobs: record.jobs.map((job) => ({
            ...job,
            id: name(job.id),
            model: name(job.model),
            reportedModel: orNull(job.reportedModel, MAX_BYTES.name),
            usageRaw: orNull(job.usageRaw, MAX_BYTES.raw),
            priceId: orNull(job.priceId, MAX_BYTES.name),
            price: orNull(job.price, MAX_BYTES.price),
            unpricedReason: orNull(job.unpricedReason ?? null, MAX_BYTES.name) ?? undefined,
          })),
        }),
    ...(record.objects === undefined
      ? {}
      : { objects: record.objects.map((event) => ({ ...event, id: name(event.id) })) }),
  }
}
