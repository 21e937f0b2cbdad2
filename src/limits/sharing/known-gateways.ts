import {
  type AccountShare,
  type GatewayField,
  holdsShare,
  isAllCounted,
  parseField,
} from './gateway-field.ts'
import { type GatewayLives, SUSPECTED_MS } from './gateway-lives.ts'
import type { SharedSnapshot } from './spent-snapshots.ts'

/** A gateway that reports nothing for this long uses no window and no slot any more, as far as others can know. */
export const SILENT_MS = 5_000
/** After this long without a report it is not counted among those that share what is left. */
export const DEAD_MS = 30_000
/** After this long its records come by Postgres or not at all. */
export const GONE_MS = 600_000
/** How old a report may be at the first reading: clocks of servers jump. */
const OLDEST_MS = 3_600_000

/** What another gateway reported last of one client. */
export interface KnownGateway {
  readonly id: string
  readonly text: string
  readonly field: GatewayField
  /** Monotonic milliseconds: when it reported this, and when this process heard of it first. */
  readonly reportedAtMs: number
  readonly seenAtMs: number
}

/** The names in a client's hash. */
export const TOKEN_FIELD = 't'
export const SNAPSHOTS_FIELD = 's'
const GATEWAY_FIELD = 'g:'
export const REPORTED_FIELD = 'a:'

export function gatewayFieldName(id: string): string {
  return `${GATEWAY_FIELD}${id}`
}

/** Where the script writes when, by Redis's clock, the gateway's field was written. */
export function reportedFieldName(id: string): string {
  return `${REPORTED_FIELD}${id}`
}

/** What the other gateways reported of one client, kept so that a Redis that lost it gets it again. */
export class KnownGateways {
  readonly #ownId: string
  readonly #lives: GatewayLives
  #others: ReadonlyMap<string, KnownGateway> = new Map()
  #list: readonly KnownGateway[] = []
  /** Those whose field in Redis is older than what is known here, or is gone. */
  #toWrite: readonly KnownGateway[] = []
  /** Fields that no gateway needs any more. */
  #toDelete: readonly string[] = []
  #learnedAtMs = Number.NEGATIVE_INFINITY

  constructor(ownId: string, lives: GatewayLives) {
    this.#ownId = ownId
    this.#lives = lives
  }

  get others(): readonly KnownGateway[] {
    return this.#list
  }

  /** Whether the gateway has ended, so that nothing is its own. */
  hasEnded({ id, reportedAtMs }: KnownGateway): boolean {
    return this.#lives.hasEnded(id, reportedAtMs)
  }

  /**
   * It is asked which of them have ended.
   *
   * @param sinceMs Since when they have had the time to report.
   */
  suspectSilent(sinceMs: number, nowMs: number): void {
    for (const gateway of this.#list) {
      const silentMs = nowMs - Math.max(gateway.reportedAtMs, gateway.seenAtMs, sinceMs)
      if (silentMs >= SUSPECTED_MS && holdsShare(gateway.field) && !this.hasEnded(gateway))
        this.#lives.suspect(gateway.id, silentMs)
    }
  }

  /**
   * All of a client's hash was read just now.
   *
   * @param redisMs Its server's clock.
   * @param snapshots The readings of Postgres that this gateway keeps.
   */
  learn(
    fields: ReadonlyMap<string, string>,
    redisMs: number,
    nowMs: number,
    snapshots: readonly SharedSnapshot[],
  ): void {
    const others = new Map<string, KnownGateway>()
    const toWrite: KnownGateway[] = []
    const toDelete: string[] = []
    for (const [name, text] of fields) {
      if (!name.startsWith(GATEWAY_FIELD)) continue
      const id = name.slice(GATEWAY_FIELD.length)
      if (id === this.#ownId) continue
      const found = this.#read(id, text, Number(fields.get(reportedFieldName(id))), redisMs, nowMs, snapshots)
      if (found === null) continue
      if (found.text !== text) toWrite.push(found)
      if (this.#isOver(found, nowMs) && nowMs - found.seenAtMs > SILENT_MS) toDelete.push(id)
      else others.set(id, found)
    }
    for (const [id, known] of this.#others) {
      if (others.has(id) || this.#isOver(known, nowMs)) continue
      // Redis lost it: it was flushed, or another server has taken over.
      if (!fields.has(gatewayFieldName(id))) toWrite.push(known)
      if (!toDelete.includes(id)) others.set(id, known)
    }
    this.#others = others
    this.#list = [...others.values()]
    this.#toWrite = toWrite
    this.#toDelete = toDelete
    this.#learnedAtMs = nowMs
  }

  /** Names and values in turn, an empty value deletes. They are due until Redis has taken them. */
  writes(redisMs: number, nowMs: number): string[] {
    const writes: string[] = []
    for (const { id, text, reportedAtMs } of this.#toWrite) {
      writes.push(gatewayFieldName(id), text)
      writes.push(reportedFieldName(id), `${Math.max(0, Math.round(redisMs - (nowMs - reportedAtMs)))}`)
    }
    for (const id of this.#toDelete) writes.push(gatewayFieldName(id), '', reportedFieldName(id), '')
    return writes
  }

  /** Redis has taken the writes, and has what is known here. */
  written(nowMs: number): void {
    this.#toWrite = []
    this.#toDelete = []
    this.#learnedAtMs = nowMs
  }

  #isOver(gateway: KnownGateway, nowMs: number): boolean {
    return nowMs - gateway.reportedAtMs > GONE_MS && (!holdsShare(gateway.field) || this.hasEnded(gateway))
  }

  /** `null`: nothing that can be used. */
  #read(
    id: string,
    text: string,
    reportedMs: number,
    redisMs: number,
    nowMs: number,
    snapshots: readonly SharedSnapshot[],
  ): KnownGateway | null {
    const known = this.#others.get(id)
    if (known?.text === text) return known
    const field = parseField(text)
    if (field === null || (known !== undefined && known.field.counter >= field.counter)) return known ?? null
    const ageMs = Number.isFinite(reportedMs) ? Math.min(Math.max(0, redisMs - reportedMs), OLDEST_MS) : 0
    // What changed since the last reading is no older than that, whatever the server's clock says.
    const earliestMs = known === undefined ? Number.NEGATIVE_INFINITY : this.#learnedAtMs
    return {
      id,
      text,
      field: known === undefined ? field : keepAnswers(field, known.field, snapshots),
      reportedAtMs: Math.max(earliestMs, nowMs - ageMs),
      seenAtMs: known?.seenAtMs ?? nowMs,
    }
  }
}

/**
 * What a gateway said of readings of Postgres stays so when it says it no more: it has gone over to other readings,
 * and others have not.
 *
 * @param earlier What the same gateway reported before.
 * @param snapshots Those that are still of use here.
 */
function keepAnswers(
  field: GatewayField,
  earlier: GatewayField,
  snapshots: readonly SharedSnapshot[],
): GatewayField {
  const accounts = new Map<string, AccountShare>()
  for (const [key, share] of field.accounts) {
    const known = earlier.accounts.get(key)
    // A process that begins again under the same name begins to count again.
    const isSame = known !== undefined && known.recorded <= share.recorded
    accounts.set(key, isSame ? keepShare(share, known, snapshots) : share)
  }
  return { ...field, accounts }
}

function keepShare(
  share: AccountShare,
  known: AccountShare,
  snapshots: readonly SharedSnapshot[],
): AccountShare {
  const counted = new Map(share.counted)
  const countedAtLeast = new Map<string, bigint>()
  for (const { id, offsets } of snapshots) {
    if (counted.has(id)) continue
    const answer = known.counted.get(id)
    if (answer !== undefined) counted.set(id, answer)
    else if (isAllCounted(known, offsets)) countedAtLeast.set(id, known.recorded)
    else countedAtLeast.set(id, known.countedAtLeast.get(id) ?? 0n)
  }
  return { ...share, counted, countedAtLeast }
}
