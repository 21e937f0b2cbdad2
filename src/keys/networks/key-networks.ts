import { isIPv4, isIPv6 } from 'node:net'
import { utcDayOf } from '../../domain/utc-day.ts'
import type { Logger } from '../../lib/logger.ts'

/** Calls that came with a key from a network on a UTC day. */
export interface NetworkCount {
  readonly day: string
  readonly keyId: string
  /** `192.0.2.0/24`, `2001:db8::/48`, or `(other)`. */
  readonly network: string
  calls: number
}

export interface KeyNetworksOptions {
  /** Adds counts to those at rest. Rejects when the store is away. */
  readonly add: (counts: readonly NetworkCount[]) => Promise<void>
  readonly log: Logger
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly intervalMs?: number
}

/** So many networks of a key and day are kept apart. */
export const NETWORKS_PER_KEY = 16
/** In parentheses, as no network is written so. */
export const OTHER_NETWORKS = '(other)'

const INTERVAL_MS = 10_000
/** Keys that are kept for a store that is away: some 1,500 bytes each. */
const MAX_KEYS = 20_000

/** A key of the day, and where its last call came from: most come from one address after the other. */
interface KeyOfDay {
  address: string | undefined
  last: NetworkCount
  readonly counts: Map<string, NetworkCount>
}

/** The networks that keys are used from, in memory, and added to Postgres now and then. A crash loses some seconds of it. */
export class KeyNetworks {
  readonly #options: KeyNetworksOptions
  readonly #timer: NodeJS.Timeout
  #keys = new Map<string, KeyOfDay>()
  #day = ''
  #dayEndsAt = 0
  #adding: Promise<void> | null = null
  #isAway = false

  constructor(options: KeyNetworksOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#flush(), options.intervalMs ?? INTERVAL_MS).unref()
  }

  /** Runs for every call: from the address of the call before it allocates nothing. */
  count(keyId: string, address: string | undefined): void {
    const nowMs = this.#options.now()
    if (nowMs >= this.#dayEndsAt || this.#day === '') this.#beginDay(nowMs)
    const known = this.#keys.get(keyId)
    if (known !== undefined && known.address === address && known.last.day === this.#day)
      known.last.calls += 1
    else this.#countNew(keyId, address, known)
  }

  /** Adds what is left, if the store takes it. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#adding
    await this.#flush()
  }

  #beginDay(nowMs: number): void {
    this.#day = utcDayOf(nowMs)
    this.#dayEndsAt = Date.parse(this.#day) + 86_400_000
  }

  #countNew(keyId: string, address: string | undefined, known: KeyOfDay | undefined): void {
    const network = networkOf(address)
    if (network === null) return
    if (known === undefined && this.#keys.size >= MAX_KEYS) return
    const counts = known?.counts ?? new Map<string, NetworkCount>()
    const count = this.#countOf(counts, keyId, network)
    count.calls += 1
    if (known === undefined) this.#keys.set(keyId, { address, last: count, counts })
    else {
      known.address = address
      known.last = count
    }
  }

  #countOf(counts: Map<string, NetworkCount>, keyId: string, network: string): NetworkCount {
    const day = this.#day
    const ofDay = (name: string) => counts.get(`${day} ${name}`)
    const found = ofDay(network)
    if (found !== undefined) return found
    const isFull = [...counts.values()].filter((count) => count.day === day).length >= NETWORKS_PER_KEY
    const name = isFull ? OTHER_NETWORKS : network
    const count = ofDay(name) ?? { day, keyId, network: name, calls: 0 }
    counts.set(`${day} ${name}`, count)
    return count
  }

  /** Never rejects. */
  #flush(): Promise<void> {
    this.#adding ??= this.#addKept().finally(() => {
      this.#adding = null
    })
    return this.#adding
  }

  async #addKept(): Promise<void> {
    if (this.#keys.size === 0) return
    const { add, log } = this.#options
    const kept = [...this.#keys.values()].flatMap(({ counts }) => [...counts.values()])
    this.#keys = new Map()
    try {
      await add(kept)
      this.#isAway = false
    } catch (err) {
      if (!this.#isAway)
        log.warn({ event: 'keys.networks_not_saved', err }, 'networks of keys wait in memory')
      this.#isAway = true
      for (const count of kept) this.#keep(count)
    }
  }

  #keep({ day, keyId, network, calls }: NetworkCount): void {
    const known = this.#keys.get(keyId)
    const name = `${day} ${network}`
    const count = known?.counts.get(name)
    if (count !== undefined) count.calls += calls
    else if (known !== undefined) known.counts.set(name, { day, keyId, network, calls })
    else if (this.#keys.size < MAX_KEYS) {
      const last = { day, keyId, network, calls }
      this.#keys.set(keyId, { address: undefined, last, counts: new Map([[name, last]]) })
    }
  }
}

/** The /24 or the /48 of an address, as it is written; `null`: it is none, as of a socket in the file system. */
export function networkOf(address: string | undefined): string | null {
  if (address === undefined) return null
  const plain = address
    .toLowerCase()
    .replace(/^::ffff:(?=[0-9.]+$)/, '')
    .replace(/%.*$/, '')
  if (isIPv4(plain)) return `${plain.slice(0, plain.lastIndexOf('.'))}.0/24`
  if (!isIPv6(plain)) return null
  const [before = '', after] = plain.split('::')
  const [head, tail] = [before, after ?? ''].map((part) => (part === '' ? [] : part.split(':')))
  const groups =
    after === undefined
      ? (head ?? [])
      : [
          ...(head ?? []),
          ...new Array<string>(Math.max(0, 8 - (head?.length ?? 0) - (tail?.length ?? 0))).fill('0'),
          ...(tail ?? []),
        ]
  const first = groups.slice(0, 3).map((group) => group.replace(/^0+(?=.)/, ''))
  while (first.at(-1) === '0') first.pop()
  return `${first.join(':')}::/48`
}
