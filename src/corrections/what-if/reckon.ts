import type { UtcDay } from '../../domain/utc-day.ts'
import { selectClientNames } from '../../keys/clients.ts'
import { isLinear, type Price } from '../../pricing/price.ts'
import { costOfSums, type UsageSums } from '../../pricing/price-cost.ts'
import { inSnapshot, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { type DayPart, PART_SIZE, selectCallDays } from '../../usage/calls/call-partitions.ts'
import { keyText } from '../../usage/daily-key.ts'
import { selectPrices } from '../../usage/price-definitions.ts'
import { readKeptCalls } from '../reprice-calls.ts'
import { isWhole } from '../reprice-plan.ts'
import { type RowScope, type RowToReprice, selectPartsInScope, selectRowsToReprice } from '../reprice-rows.ts'
import { NO_COST, type Otherwise, priceOtherwise, priceRowOtherwise } from './price-otherwise.ts'
import type { Supposed, Uncertainty } from './supposed.ts'

/** What prompt caches saved, and could save: counts of tokens, and integer pico-USD. */
interface CacheSavings {
  readonly promptTokens: bigint
  readonly readTokens: bigint
  /** Tokens read from the cache, times what one that is not read costs more. */
  readonly savedPico: bigint
  /** What writing to the cache cost beyond prompts that are not written. */
  readonly writesPico: bigint
  /** What would be saved beyond that if every other prompt token that is text were read, too. */
  readonly couldPico: bigint
}

const NO_SAVINGS: CacheSavings = {
  promptTokens: 0n,
  readTokens: 0n,
  savedPico: 0n,
  writesPico: 0n,
  couldPico: 0n,
}

const NOT_READ = { cacheReadTokens: 0n, cacheReadAudioTokens: 0n, cacheReadImageTokens: 0n }
const NOT_WRITTEN = {
  cacheWriteTokens: 0n,
  cacheWrite5mTokens: 0n,
  cacheWrite1hTokens: 0n,
  cacheWrite12hTokens: 0n,
}

/** Adds what calls at one price used. Where the cost is not one of counts, as where an upstream said it, nothing. */
function addSavings(known: CacheSavings, sums: UsageSums, price: Price | null): CacheSavings {
  if (price === null || !isLinear(price)) return known
  const cost = (changed: Partial<UsageSums>) => costOfSums(price, { ...sums, ...changed })
  const pico = cost({})
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = sums
  const media = sums.audioInputTokens + sums.imageInputTokens + sums.videoInputTokens
  const more = inputTokens - cacheReadTokens - cacheWriteTokens - media
  const canRead = price.definition.rates.cacheRead !== undefined && more > 0n
  return {
    promptTokens: known.promptTokens + inputTokens,
    readTokens: known.readTokens + cacheReadTokens,
    savedPico: known.savedPico + cost(NOT_READ) - pico,
    writesPico: known.writesPico + pico - cost(NOT_WRITTEN),
    couldPico: known.couldPico + (canRead ? pico - cost({ cacheReadTokens: cacheReadTokens + more }) : 0n),
  }
}

/** Calls and what they cost: integer pico-USD. */
export interface CallsAt {
  calls: bigint
  pico: bigint
}

/** What calls cost, and would have. */
export interface Reckoned {
  calls: bigint
  /** Of these, those that would have cost something else, perhaps. */
  changed: bigint
  nowPico: bigint
  leastPico: bigint
  mostPico: bigint
}

export interface ReckonedRow extends Reckoned {
  readonly clientId: string
  readonly client: string | null
  readonly model: string
}

export interface WhatIf {
  readonly total: Reckoned
  readonly rows: readonly ReckonedRow[]
  /** Calls of which it cannot be known, by the reason: they are in none of the sums. */
  readonly leftOut: ReadonlyMap<string, CallsAt>
  readonly because: ReadonlySet<Uncertainty>
  /** Calls that were priced one by one; the others by the sums of their rows. */
  readonly oneByOne: bigint
  readonly savings: CacheSavings
}

/** The calls of a row of which it can be known. */
interface RowTally extends Reckoned {
  /** As metered, those that are left out included. */
  costPico: bigint
  readonly leftOut: Map<string, CallsAt>
}

const CORRECTED = 'it was priced again together with calls that this does not change'

/**
 * What the calls in a scope cost, and what they would have cost. Single calls are priced where they are kept, rows of totals
 * where their sums decide the cost. Nothing is written.
 */
export async function reckonWhatIf(
  pool: Postgres,
  scope: RowScope,
  supposed: Supposed,
  onProgress: (day: UtcDay, calls: number) => void,
): Promise<WhatIf> {
  const sums = new WhatIfSums(supposed)
  for (const part of await selectPartsInScope(pool, scope, PART_SIZE)) {
    await inSnapshot(pool, (session) => sums.addPart(session, scope, part))
    onProgress(part.day, Number(sums.total.calls))
  }
  return sums
}

class WhatIfSums implements WhatIf {
  readonly total: Reckoned = { ...NOTHING }
  readonly leftOut = new Map<string, CallsAt>()
  readonly because = new Set<Uncertainty>()
  oneByOne = 0n
  savings = NO_SAVINGS
  readonly #supposed: Supposed
  readonly #rows = new Map<string, ReckonedRow>()

  constructor(supposed: Supposed) {
    this.#supposed = supposed
  }

  get rows(): readonly ReckonedRow[] {
    return [...this.#rows.values()]
  }

  async addPart(session: PostgresSession, scope: RowScope, part: DayPart): Promise<void> {
    const rows = await selectRowsToReprice(session, scope, part)
    const prices = await selectPrices(session, new Set(rows.map(({ key }) => key.priceId)))
    const names = await selectClientNames(session, new Set(rows.map(({ key }) => key.clientId)))
    const isKept = (await selectCallDays(session)).has(part.day)
    const withoutCost = new Set(rows.filter(isWithoutCost).map(({ key }) => keyText(key)))
    const known = { prices, names, withoutCost }
    const tallies = isKept ? await this.#tally(session, scope, part, known) : new Map<string, RowTally>()
    for (const row of rows) {
      const price = prices.get(row.key.priceId) ?? null
      this.savings = addSavings(this.savings, row.sums, price)
      const tally = tallies.get(keyText(row.key))
      const isFromCalls = tally !== undefined && isWhole(row, asCounted(tally))
      if (isFromCalls) this.oneByOne += row.sums.requests
      const name = names.get(row.key.clientId) ?? null
      this.#addRow(row, name, isFromCalls ? tally : this.#tallyOfSums(row, name, price))
    }
  }

  async #tally(
    session: PostgresSession,
    scope: RowScope,
    part: DayPart,
    { prices, names, withoutCost }: KnownOfRows,
  ): Promise<Map<string, RowTally>> {
    const tallies = new Map<string, RowTally>()
    for await (const calls of readKeptCalls(session, scope, part))
      for (const call of calls) {
        const { key } = call
        const text = keyText(key)
        const tally = tallies.get(text) ?? newTally()
        tallies.set(text, tally)
        const clientName = names.get(key.clientId) ?? null
        const price = prices.get(key.priceId) ?? null
        const found = priceOtherwise(this.#supposed, key.model, { ...call, clientName }, price)
        tally.costPico += call.costPico ?? 0n
        this.#addTo(tally, found, 1n, call.costPico ?? (withoutCost.has(text) ? null : 0n))
      }
    return tallies
  }

  #tallyOfSums(row: RowToReprice, clientName: string | null, price: Price | null): RowTally {
    const { key, provider, unpriced, invalid, withoutFigures, sums, costPico } = row
    const { day, upstream, model, priceId } = key
    const past = {
      day,
      provider,
      upstream,
      clientName,
      model,
      priceId,
      unpriced,
      invalid,
      withoutFigures,
      sums,
    }
    const tally = newTally()
    tally.costPico = costPico
    const withoutCost = isWithoutCost(row) ? unpriced : 0n
    if (withoutCost > 0n) this.#addTo(tally, { kind: 'unknown', reason: NO_COST }, withoutCost, null)
    if (sums.requests > withoutCost)
      this.#addTo(
        tally,
        priceRowOtherwise(this.#supposed, past, price),
        sums.requests - withoutCost,
        costPico,
      )
    return tally
  }

  /** @param nowPico What it cost, as metered; `null`: nothing is known. */
  #addTo(tally: RowTally, found: Otherwise, calls: bigint, nowPico: bigint | null): void {
    const pico = nowPico ?? 0n
    if (found.kind === 'unknown' || nowPico === null) {
      const reason = found.kind === 'unknown' ? found.reason : NO_COST
      addCalls(tally.leftOut, reason, { calls, pico })
      return
    }
    const isSame = found.kind === 'same'
    addUp(tally, {
      calls,
      changed: isSame ? 0n : calls,
      nowPico: pico,
      leastPico: isSame ? pico : found.leastPico,
      mostPico: isSame ? pico : found.mostPico,
    })
    if (!isSame) for (const why of found.because) this.because.add(why)
  }

  #addRow(row: RowToReprice, client: string | null, tally: RowTally): void {
    const { key, sums, adjustedPico, repricedPico } = row
    const isMixed = tally.leftOut.size > 0 || (tally.changed > 0n && tally.changed < tally.calls)
    if (repricedPico !== 0n && isMixed) {
      // What was corrected is known of the row alone.
      const whole = { calls: sums.requests, pico: tally.costPico + adjustedPico }
      addCalls(this.leftOut, isWithoutCost(row) ? NO_COST : CORRECTED, whole)
      return
    }
    for (const [reason, calls] of tally.leftOut) addCalls(this.leftOut, reason, calls)
    if (tally.calls === 0n && adjustedPico === 0n) return
    // Credits by hand stay as they are, and so does what was corrected where nothing changes.
    const kept = tally.changed === 0n ? adjustedPico : adjustedPico - repricedPico
    const added: Reckoned = {
      calls: tally.calls,
      changed: tally.changed,
      nowPico: tally.nowPico + adjustedPico,
      leastPico: tally.leastPico + kept,
      mostPico: tally.mostPico + kept,
    }
    const name = `${key.clientId}\0${key.model}`
    const known = this.#rows.get(name) ?? { clientId: key.clientId, client, model: key.model, ...NOTHING }
    this.#rows.set(name, known)
    addUp(known, added)
    addUp(this.total, added)
  }
}

interface KnownOfRows {
  readonly prices: ReadonlyMap<string, Price>
  readonly names: ReadonlyMap<string, string>
  /** `keyText` of rows with calls that have no cost. */
  readonly withoutCost: ReadonlySet<string>
}

/** Whether calls of the row have no cost, also by no repricing. */
function isWithoutCost({ unpriced, pricedLater }: RowToReprice): boolean {
  return pricedLater < unpriced
}

const NOTHING: Reckoned = { calls: 0n, changed: 0n, nowPico: 0n, leastPico: 0n, mostPico: 0n }

function newTally(): RowTally {
  return { ...NOTHING, costPico: 0n, leftOut: new Map() }
}

function asCounted({ calls, costPico, leftOut }: RowTally) {
  const others = [...leftOut.values()].reduce((sum, one) => sum + one.calls, 0n)
  return { calls: calls + others, costPico }
}

function addUp(sum: Reckoned, more: Reckoned): void {
  sum.calls += more.calls
  sum.changed += more.changed
  sum.nowPico += more.nowPico
  sum.leastPico += more.leastPico
  sum.mostPico += more.mostPico
}

function addCalls(known: Map<string, CallsAt>, reason: string, { calls, pico }: CallsAt): void {
  const sum = known.get(reason) ?? { calls: 0n, pico: 0n }
  known.set(reason, sum)
  sum.calls += calls
  sum.pico += pico
}
