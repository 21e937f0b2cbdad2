import { isObject, parsedJson } from '../../domain/json.ts'
import { AGE_STEPS } from '../engine/sliding-window.ts'

/** What a gateway reports of one budget's period. Integer pico-USD. */
export interface AccountShare {
  /** What it recorded since it began to count. */
  readonly recorded: bigint
  /** What its running calls reserve. */
  readonly reserved: bigint
  /** It promises `recorded + reserved` to stay at or under this. */
  readonly ceiling: bigint
  /** The last record in `recorded` of each producer that has one. */
  readonly lastSequences: ReadonlyMap<string, number>
  /** What of `recorded` is in readings of Postgres, by their ids. */
  readonly counted: ReadonlyMap<string, bigint>
  /** Not reported: the same of readings that it has not answered, as far as its earlier reports show. At least so much. */
  readonly countedAtLeast: ReadonlyMap<string, bigint>
  /** Of `recorded`, what jobs reserve; and what of that is in readings. */
  readonly jobs: bigint
  readonly jobsCounted: ReadonlyMap<string, bigint>
  /** A call waits there. */
  readonly wants: boolean
}

/** What a gateway reports of one limit on requests, tokens or calls at once. */
export interface RateShare {
  /** It promises to use at most this. */
  readonly ceiling: number
  /** Of a window: its use by age, the youngest first. Of calls at once: one number. */
  readonly used: readonly number[]
  /** Of that, what running calls may use. */
  readonly pending: number
  readonly wants: boolean
}

/** All that a gateway reports of one subject. */
export interface GatewayField {
  /** Rises with everything that the gateway reports: of two texts, the one with the higher number is newer. */
  readonly counter: number
  /** Who number its records. */
  readonly producers: readonly string[]
  readonly accounts: ReadonlyMap<string, AccountShare>
  readonly rates: ReadonlyMap<string, RateShare>
}

/** Of a report by itself. */
export const NONE_COUNTED: ReadonlyMap<string, bigint> = new Map()

interface AccountText {
  readonly u: string
  readonly r: string
  readonly l: string
  /** A number where there is one producer, as releases before groups have it. */
  readonly q: number | Readonly<Record<string, number>>
  readonly s: Readonly<Record<string, string>>
  readonly w?: 1
  readonly j?: string
  readonly k?: Readonly<Record<string, string>>
}

interface RateText {
  readonly l: number
  readonly u: readonly number[]
  readonly p?: number
  readonly w?: 1
}

/** Stands between producers. */
const AND = ','

export function serialiseField({ counter, producers, accounts, rates }: GatewayField): string {
  const [only = ''] = producers
  const a: Record<string, AccountText> = {}
  for (const [key, share] of accounts) {
    a[key] = {
      u: `${share.recorded}`,
      r: `${share.reserved}`,
      l: `${share.ceiling}`,
      q:
        producers.length === 1
          ? (share.lastSequences.get(only) ?? 0)
          : Object.fromEntries(share.lastSequences),
      s: textsOf(share.counted),
      ...(share.wants ? { w: 1 } : {}),
      ...(share.jobs > 0n ? { j: `${share.jobs}`, k: textsOf(share.jobsCounted) } : {}),
    }
  }
  const r: Record<string, RateText> = {}
  for (const [id, { ceiling, used, pending, wants }] of rates)
    r[id] = { l: ceiling, u: used, ...(pending > 0 ? { p: pending } : {}), ...(wants ? { w: 1 } : {}) }
  return JSON.stringify({ c: counter, p: producers.join(AND), a, r })
}

/**
 * Reads what another gateway reports, perhaps one of another release. Parts that are not as they should be are left out.
 *
 * @returns `null`: nothing in it can be used.
 */
export function parseField(text: string): GatewayField | null {
  const read = parsedJson(text)
  if (!isObject(read) || !isCount(read.c) || typeof read.p !== 'string') return null
  const producers = read.p.split(AND)
  const accounts = new Map<string, AccountShare>()
  for (const [key, value] of entriesOf(read.a)) {
    const share = accountFrom(value, producers)
    if (share !== null) accounts.set(key, share)
  }
  const rates = new Map<string, RateShare>()
  for (const [id, value] of entriesOf(read.r)) {
    const share = rateFrom(value)
    if (share !== null) rates.set(id, share)
  }
  return { counter: read.c, producers, accounts, rates }
}

function accountFrom(value: unknown, [only = '']: readonly string[]): AccountShare | null {
  if (!isObject(value)) return null
  const recorded = picoFrom(value.u)
  const reserved = picoFrom(value.r)
  const ceiling = picoFrom(value.l)
  const last = isCount(value.q) ? [[only, value.q] as const] : entriesOf(value.q)
  const lastSequences = new Map<string, number>()
  for (const [producer, sequence] of last)
    if (isCount(sequence) && sequence > 0) lastSequences.set(producer, sequence)
  if (recorded === null || reserved === null || ceiling === null) return null
  return {
    recorded,
    reserved,
    ceiling,
    lastSequences,
    counted: amountsFrom(value.s),
    countedAtLeast: NONE_COUNTED,
    jobs: picoFrom(value.j) ?? 0n,
    jobsCounted: amountsFrom(value.k),
    wants: value.w === 1,
  }
}

function rateFrom(value: unknown): RateShare | null {
  if (!isObject(value) || !isCount(value.l) || !Array.isArray(value.u)) return null
  const used = value.u.slice(0, AGE_STEPS)
  // A gateway of a release before this one does not say what is pending.
  const pending = isCount(value.p) ? value.p : 0
  return used.every(isCount) ? { ceiling: value.l, used, pending, wants: value.w === 1 } : null
}

export function entriesOf(value: unknown): readonly [string, unknown][] {
  return isObject(value) ? Object.entries(value) : []
}

function textsOf(amounts: ReadonlyMap<string, bigint>): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [id, pico] of amounts) texts[id] = `${pico}`
  return texts
}

function amountsFrom(value: unknown): ReadonlyMap<string, bigint> {
  const amounts = new Map<string, bigint>()
  for (const [id, text] of entriesOf(value)) {
    const pico = picoFrom(text)
    if (pico !== null) amounts.set(id, pico)
  }
  return amounts
}

const PICO = /^[0-9]{1,60}$/

/** An amount that is not negative; `null`: it is none. */
function picoFrom(value: unknown): bigint | null {
  return typeof value === 'string' && PICO.test(value) ? BigInt(value) : null
}

export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** Whether a reading that has counted the records up to these has all that is recorded. */
export function isAllCounted(
  { lastSequences }: Pick<AccountShare, 'lastSequences'>,
  offsets: ReadonlyMap<string, number>,
): boolean {
  for (const [producer, last] of lastSequences) if ((offsets.get(producer) ?? 0) < last) return false
  return lastSequences.size > 0
}

/** Whether a part of a budget is the gateway's own that nothing was recorded of. */
export function holdsShare({ accounts }: GatewayField): boolean {
  for (const { recorded, reserved, ceiling } of accounts.values())
    if (reserved > 0n || ceiling > recorded) return true
  return false
}
