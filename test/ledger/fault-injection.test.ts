import { expect, test, vi } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openCall } from './support/calls.ts'
import { close, open, type Site, testSite } from './support/ledgers.ts'

const STEPS = 100

/** The same numbers for the same seed, 0 to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Gateways of one host, to which everything happens that the ledger must survive, in the order a seed gives. */
class Misfortunes {
  readonly #site: Site
  readonly #random: () => number
  readonly #ledgers: { ledger: Ledger; open: number[]; abandoned: number[] }[] = []
  readonly called: number[] = []
  #number = 0
  #backup: ReturnType<Site['totals']['snapshot']> | null = null

  constructor(site: Site, seed: number) {
    this.#site = site
    this.#random = randomOf(seed)
  }

  async step(): Promise<void> {
    const { redis, stream, totals } = this.#site
    const happenings: readonly (() => unknown)[] = [
      () => this.#calls(),
      () => this.#calls(),
      () => this.#calls(),
      () => this.#start(),
      () => this.#stop(),
      () => totals.rollUp(redis, stream).catch(() => {}),
      () => totals.rollUp(redis, stream).catch(() => {}),
      () => redis.del(stream),
      () => this.#loseOneEntry(),
      () => this.#damageOneEntry(),
      () => this.#repeatOneEntry(),
      () => {
        totals.away = !totals.away
      },
      () => {
        this.#backup = totals.snapshot()
      },
      () => {
        if (this.#backup !== null) totals.restore(this.#backup)
      },
      () => new Promise((resolve) => setTimeout(resolve, this.#upTo(120))),
    ]
    await happenings[this.#upTo(happenings.length)]?.()
  }

  /** The faults end: by a new gateway alone, to which all that is open was cut, or by those that run, which close it. */
  async end(): Promise<void> {
    this.#site.totals.away = false
    const repairThemselves = this.#random() < 0.5
    for (const { ledger, open, abandoned } of this.#ledgers) {
      if (repairThemselves) await Promise.all([...open, ...abandoned].map((number) => close(ledger, number)))
      else await ledger.stop(0)
    }
    await this.#site.ledger()
  }

  async #calls(): Promise<void> {
    const gateway = this.#ledgers[this.#upTo(this.#ledgers.length)]
    if (gateway === undefined) return await this.#start()
    const { ledger } = gateway
    const numbers = Array.from({ length: 1 + this.#upTo(80) }, () => ++this.#number)
    for (const number of numbers) {
      this.called.push(number)
      void open(ledger, number)
      if (this.#random() < 0.1) ledger.saveSnapshot(openCall(number), () => '{"prompt_tokens":1}')
      if (this.#random() < 0.9) gateway.open.push(number)
      else gateway.abandoned.push(number)
    }
    const ending = gateway.open.splice(0, this.#upTo(gateway.open.length + 1))
    const results = await Promise.all(ending.map((number) => close(ledger, number)))
    expect(results.filter((result) => result !== null)).toEqual([])
  }

  async #start(): Promise<void> {
    if (this.#ledgers.length < 3)
      this.#ledgers.push({ ledger: await this.#site.ledger(), open: [], abandoned: [] })
  }

  async #stop(): Promise<void> {
    const [gateway] = this.#ledgers.splice(this.#upTo(this.#ledgers.length), 1)
    await gateway?.ledger.stop(this.#upTo(2) * 50)
  }

  async #loseOneEntry(): Promise<void> {
    const [id] = await this.#anyEntry()
    if (id !== undefined) await this.#site.redis.xdel(this.#site.stream, id)
  }

  async #damageOneEntry(): Promise<void> {
    const [id, fields] = await this.#anyEntry()
    if (id === undefined || fields === undefined) return
    await this.#site.redis.xdel(this.#site.stream, id)
    await this.#site.redis.xadd(this.#site.stream, '*', ...fields.with(9, `${fields[9]} `))
  }

  async #repeatOneEntry(): Promise<void> {
    const [, fields] = await this.#anyEntry()
    if (fields !== undefined) await this.#site.redis.xadd(this.#site.stream, '*', ...fields)
  }

  async #anyEntry(): Promise<[string, string[]] | []> {
    const entries = await this.#site.redis.xrange(this.#site.stream, '-', '+')
    return entries[this.#upTo(entries.length)] ?? []
  }

  #upTo(end: number): number {
    return Math.floor(this.#random() * end)
  }
}

test.each([1, 2, 3, 4])('every call is counted exactly once, whatever happens (seed %i)', async (seed) => {
  const site = testSite()
  const misfortunes = new Misfortunes(site, seed)
  for (let step = 0; step < STEPS; step++) await misfortunes.step()
  await misfortunes.end()
  await vi.waitFor(
    async () => {
      await site.totals.rollUp(site.redis, site.stream)
      expect(site.totals.counted.size).toBe(misfortunes.called.length)
    },
    { interval: 20 },
  )
  expect(site.totals.miscounted).toEqual([])
  expect(site.totals.gaps).toEqual([])
})
