import type { UtcDay } from '../domain/utc-day.ts'

/** What names a row of `daily_usage`. */
export interface DailyKey {
  readonly clientId: string
  readonly day: UtcDay
  readonly keyId: string
  /** The name calls are totalled under. */
  readonly model: string
  readonly upstream: string
  /** '': unpriced, or nothing to price. */
  readonly priceId: string
}

/** The columns of `daily_usage`'s primary key, in its order. */
export const KEY_COLUMNS = ['client_id', 'day', 'key_id', 'model', 'upstream', 'price_id'] as const

/** A row's key as one text: equal where the keys are, and in the order in which rows are locked. */
export function keyText({ clientId, day, keyId, model, upstream, priceId }: DailyKey): string {
  return [clientId, day, keyId, model, upstream, priceId].join('\0')
}

/** The key as a row of SQL has it. */
export interface DailyKeyRow {
  readonly client_id: string
  readonly day: string
  readonly key_id: string
  readonly model: string
  readonly upstream: string
  readonly price_id: string
}

export function keyFrom(row: DailyKeyRow): DailyKey {
  return {
    clientId: row.client_id,
    day: row.day,
    keyId: row.key_id,
    model: row.model,
    upstream: row.upstream,
    priceId: row.price_id,
  }
}

export function keyRowOf(key: DailyKey): DailyKeyRow {
  return {
    client_id: key.clientId,
    day: key.day,
    key_id: key.keyId,
    model: key.model,
    upstream: key.upstream,
    price_id: key.priceId,
  }
}
