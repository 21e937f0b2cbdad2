import { leaseName, workersName } from '../../src/domain/redis/redis-names.ts'
import type { Redis } from '../../src/store/connection/redis.ts'
import {
  announceWorker,
  holdLease,
  readLease,
  releaseLease,
  withdrawWorker,
} from '../../src/store/ledger/shard-leases.ts'

/** Longer than two renewals may take, and no longer than others may wait for the shard of a worker that was killed. */
const LEASE_MS = 1_500
/** A lease that was free for so long is taken by any worker: its owner runs and does not count. */
const ABANDONED_MS = 1_500
/** For so long it is not given back then, as its owner may fail again. */
const KEEP_MS = 30_000
/** After a failure, the first pause before this worker takes the shard again, and the longest. */
const RETRY_MS = 500
const MAX_RETRY_MS = 5_000

/** What this worker knows of one stream. */
interface Share {
  /** Until when it holds the lease, by its own monotonic clock; 0: it does not. */
  heldUntilMs: number
  /** The owner whose abandoned shard it took over, and when; `null`: the shard is its own. */
  tookOver: { readonly owner: string; readonly atMs: number } | null
  /** Since when the lease has been free, as far as it was seen; `null`: it is held, or was not looked at. */
  freeSinceMs: number | null
  failures: number
  retryAtMs: number
}

/**
 * Which shards this worker counts. Running workers announce themselves; the streams are dealt out to them in turn, so
 * that each has as many as the others, give or take one. A worker reads only what it holds the lease of, and gives a
 * shard back when a worker that comes is dealt it.
 */
export class Leases {
  readonly #redis: Redis
  readonly #prefix: string
  readonly #worker: string
  readonly #shares = new Map<string, Share>()
  #streams: readonly string[] = []
  #workers: readonly string[] = []

  /** @param worker Its name among the workers: unique, also over restarts. */
  constructor(redis: Redis, redisPrefix: string, worker: string) {
    this.#redis = redis
    this.#prefix = redisPrefix
    this.#worker = worker
  }

  /** Renews what this worker holds, and learns of the others. To be called every half second. */
  async renew(streams: readonly string[]): Promise<void> {
    this.#streams = [...streams].sort()
    this.#workers = await announceWorker(this.#redis, workersName(this.#prefix), this.#worker, LEASE_MS)
    for (const [stream, share] of this.#shares) if (share.heldUntilMs > 0) await this.#hold(stream, share)
  }

  /** Whether this worker is to go on reading the stream. */
  holds(stream: string): boolean {
    const share = this.#shares.get(stream)
    if (share === undefined || performance.now() >= share.heldUntilMs) return false
    const owner = this.#ownerOf(stream)
    if (owner === this.#worker || owner === null) return true
    return share.tookOver?.owner === owner && performance.now() - share.tookOver.atMs < KEEP_MS
  }

  /** Takes the stream's lease where this worker should have it: its own, or one that its owner leaves alone. */
  async take(stream: string): Promise<boolean> {
    const share = this.#shareOf(stream)
    const owner = this.#ownerOf(stream)
    if (owner === null || performance.now() < share.retryAtMs) return false
    if (owner === this.#worker) {
      share.tookOver = null
      return await this.#hold(stream, share)
    }
    if ((await readLease(this.#redis, this.#leaseOf(stream))) !== null) {
      share.freeSinceMs = null
      return false
    }
    const nowMs = performance.now()
    share.freeSinceMs ??= nowMs
    if (nowMs - share.freeSinceMs < ABANDONED_MS) return false
    share.freeSinceMs = null
    share.tookOver = { owner, atMs: nowMs }
    return await this.#hold(stream, share)
  }

  /** It counts: its next failure is a first one. */
  succeeded(stream: string): void {
    this.#shareOf(stream).failures = 0
  }

  /** Gives the shard back, so that another worker can try, and leaves it alone for a while. */
  async failed(stream: string): Promise<void> {
    const share = this.#shareOf(stream)
    share.retryAtMs = performance.now() + Math.min(RETRY_MS * 2 ** share.failures, MAX_RETRY_MS)
    share.failures += 1
    await this.release(stream)
  }

  /** Gives the shard back. */
  async release(stream: string): Promise<void> {
    const share = this.#shareOf(stream)
    share.heldUntilMs = 0
    await releaseLease(this.#redis, this.#leaseOf(stream), this.#worker)
  }

  /** Leaves all shards to the others at once. */
  async close(): Promise<void> {
    await withdrawWorker(this.#redis, workersName(this.#prefix), this.#worker)
    for (const [stream, share] of this.#shares) if (share.heldUntilMs > 0) await this.release(stream)
  }

  async #hold(stream: string, share: Share): Promise<boolean> {
    const sentAtMs = performance.now()
    const isHeld = await holdLease(this.#redis, this.#leaseOf(stream), this.#worker, LEASE_MS)
    share.heldUntilMs = isHeld ? sentAtMs + LEASE_MS : 0
    return isHeld
  }

  /** `null`: not known, as this worker has not announced itself yet or the stream is new. */
  #ownerOf(stream: string): string | null {
    const index = this.#streams.indexOf(stream)
    return index === -1 ? null : (this.#workers[index % this.#workers.length] ?? null)
  }

  #shareOf(stream: string): Share {
    const known = this.#shares.get(stream)
    if (known !== undefined) return known
    const share: Share = { heldUntilMs: 0, tookOver: null, freeSinceMs: null, failures: 0, retryAtMs: 0 }
    this.#shares.set(stream, share)
    return share
  }

  #leaseOf(stream: string): string {
    return leaseName(this.#prefix, stream)
  }
}
