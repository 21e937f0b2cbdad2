import { isIPv6 } from 'node:net'

const WINDOW_MS = 60_000
/** Some megabytes. Beyond that those that guessed longest ago are dropped. */
const MOST_ADDRESSES = 20_000
/** A text of so many characters is not found by guessing, so who has it need not wait for those who guess. */
const UNGUESSABLE_LENGTH = 32

interface Guesser {
  wrong: number
  readonly sinceMs: number
}

/** Slows those who guess tokens or keys: so many wrong ones a minute from one address, and no more are looked at. */
export class Guesses {
  readonly #most: number
  readonly #now: () => number
  readonly #byAddress = new Map<string, Guesser>()

  /** @param now Monotonic milliseconds. */
  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = most
    this.#now = now
  }

  /** Whole seconds until the address may guess again; `null`: it may. */
  waitSeconds(address: string): number | null {
    const place = placeOf(address)
    const guesser = this.#byAddress.get(place)
    if (guesser === undefined) return null
    const leftMs = guesser.sinceMs + WINDOW_MS - this.#now()
    if (leftMs <= 0) this.#byAddress.delete(place)
    return leftMs > 0 && guesser.wrong >= this.#most ? Math.ceil(leftMs / 1_000) : null
  }

  /** A wrong one came from there. */
  count(address: string): void {
    const place = placeOf(address)
    const guesser = this.#byAddress.get(place)
    if (guesser !== undefined && guesser.sinceMs + WINDOW_MS > this.#now()) {
      guesser.wrong += 1
      return
    }
    this.#byAddress.delete(place)
    if (this.#byAddress.size >= MOST_ADDRESSES)
      for (const oldest of this.#byAddress.keys()) {
        this.#byAddress.delete(oldest)
        break
      }
    this.#byAddress.set(place, { wrong: 1, sinceMs: this.#now() })
  }
}

export function isUnguessable(secret: string): boolean {
  return secret.length >= UNGUESSABLE_LENGTH
}

/** One address of IPv6 comes with the other 2^64 of its network. */
function placeOf(address: string): string {
  if (!isIPv6(address)) return address
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length)
  const [head = '', tail = ''] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const behind = tail === '' ? [] : tail.split(':')
  const zeros = address.includes('::')
    ? Array<string>(Math.max(0, 8 - groups.length - behind.length)).fill('0')
    : []
  return [...groups, ...zeros, ...behind].slice(0, 4).join(':')
}
