import { picoToUsdText } from '../../../src/domain/pico-usd.ts'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { LimitTable } from '../../../src/limits/directory/limit-table.ts'
import { LimitEngine } from '../../../src/limits/engine/limit-engine.ts'
import type { CallToLimit, LimitRefusal, Reservation } from '../../../src/limits/engine/limiter.ts'
import type { Limit } from '../../../src/limits/limit.ts'
import type { BudgetToRead } from '../../../src/limits/sharing/limit-store.ts'
import type { SubjectScope } from '../../../src/limits/subject.ts'
import type { Random } from '../../model/faults/random.ts'
import { RedisInWorld } from './redis-in-world.ts'

/** What the engine relies on, each of which can be taken out. */
export const RULES = {
  tokenIsCompared: 'Redis writes only where no other gateway has written',
  oneMoment: 'sums and committed offsets are read as of one moment',
  ownSequence: 'a call settles with the number of its own record',
  settlesFirst: 'a call is settled before it is released',
  ownName: 'each process has a name of its own',
  ownProducer: 'the producer is the one that numbers the client’s records',
} as const

export type Rule = keyof typeof RULES

export interface CallInWorld {
  readonly gateway: GatewayInWorld
  readonly call: CallToLimit
  /** Of a session it grows. */
  cost: bigint
  reservation: Reservation | null
  isRefused: boolean
  admittedAtMs: number
  endedAtMs: number
  isRecorded: boolean
}

/** Whose calls are meant, as `BudgetToRead` says it. */
export type Whose = Partial<SubjectScope>

/** A client of a call, and its user; `null`: it names none. */
export interface Caller {
  readonly clientId: string
  readonly user: string | null
}

/** The clients of the world, which are in one group. */
export const CLIENTS = ['c', 'd'] as const
export const GROUP = 'g'
const ONLY: Caller = { clientId: 'c', user: null }

interface JournalRecord extends Caller {
  readonly day: string
  readonly cost: bigint
}

/** One process, its journal, and its calls. */
export class GatewayInWorld {
  readonly engine: LimitEngine
  readonly gatewayId: string
  readonly journal: JournalRecord[] = []
  /** Each client's records are numbered by a producer of their own. How many of each there are. */
  readonly #producers: ReadonlyMap<string, string>
  readonly #numbers = new Map<string, number>()
  readonly clockOffMs: number
  /** As Redis sees it, and as the gateway does: one that is cut off may be connected still, as Redis sees it. */
  isConnected = true
  canReach = true
  shipped = 0
  isDead = false
  killedAtMs = Number.POSITIVE_INFINITY
  pausedUntilMs = 0
  nextTickMs = 0
  constructor(world: World, producer: string, clockOffMs: number) {
    this.#producers = new Map(CLIENTS.map((client) => [client, `${producer}${client}`]))
    this.clockOffMs = clockOffMs
    this.gatewayId = world.has('ownName') ? `${producer}-` : 'same'
    this.engine = new LimitEngine({
      gatewayId: this.gatewayId,
      limitsOf: (clientId) => world.table.of(clientId),
      store: {
        exchange: (request) => world.redis.ask(this, () => world.redis.script(request)),
        keptSince: () => world.redis.ask(this, () => world.redis.keptSince()),
      },
      hadPeers: async () => true,
      lifeSigns: {
        give: () => world.overPostgres(this, () => void world.signs.set(this.gatewayId, world.nowMs)),
        findMissing: async (ids) => {
          const deaf = await world.redis.ask(this, () => ids.filter((id) => !world.redis.hears(id)))
          const cutOff = await world.overPostgres(this, () => ids.filter((id) => world.hasSign(id)))
          const missing = ids.filter((id) => !cutOff.includes(id))
          return new Map(missing.map((id) => [id, deaf.includes(id) ? 'ended' : 'silent']))
        },
      },
      readSpent: (budgets, producers) => world.readSpent(budgets, producers, this),
      others: {
        of: (clientId, axes) => world.table.others.of(clientId, axes),
        limitsOf: (subject) => world.table.others.limitsOf(subject),
      },
      producerOf: (clientId) => (world.has('ownProducer') ? this.producerOf(clientId) : 'p1c'),
      producers: [...this.#producers.values()],
      now: () => world.nowMs,
      wallNow: () => world.wallMs + clockOffMs,
      defer: (task) => world.at(world.nowMs, this, task),
    })
  }

  producerOf(clientId: string): string {
    return this.#producers.get(clientId) ?? ''
  }

  /** Writes the record of a call. @returns Its number among those of its producer. */
  write(record: JournalRecord): number {
    const number = (this.#numbers.get(record.clientId) ?? 0) + 1
    this.#numbers.set(record.clientId, number)
    this.journal.push(record)
    return number
  }
}

interface Timer {
  readonly atMs: number
  readonly order: number
  /** Nothing of a dead process runs, and nothing of a paused one before it goes on. */
  readonly owner: GatewayInWorld | null
  readonly task: () => void
  /** A deadline: of a process that stood still, answers that have come meanwhile are read first. */
  readonly isDeadline: boolean
}

/** Gateways, Redis and Postgres, and a clock that only the schedule moves. */
export class World {
  nowMs = 1_000_000
  wallMs: number
  readonly #limits = new Map<string, Limit>()
  readonly table = new LimitTable(() => [GROUP])
  readonly random: Random
  readonly gateways: GatewayInWorld[] = []
  readonly calls: CallInWorld[] = []
  readonly refusals: { readonly refusal: LimitRefusal; readonly atMs: number }[] = []
  readonly redis = new RedisInWorld(this)
  /** When gateways said in Postgres that they cannot reach Redis. */
  readonly signs = new Map<string, number>()
  postgresAwayUntilMs = 0
  /** What the worker has counted. */
  readonly committed: JournalRecord[] = []
  readonly offsets = new Map<string, number>()
  readonly #without: Rule | null
  #timers: Timer[] = []
  #order = 0
  #producers = 0

  constructor(random: Random, limits: readonly Limit[], wallMs: number, without: Rule | null = null) {
    this.random = random
    this.setLimits(limits)
    this.wallMs = wallMs
    this.#without = without
  }

  get limits(): readonly Limit[] {
    return [...this.#limits.values()]
  }

  setLimits(limits: readonly Limit[]): void {
    for (const limit of limits) this.#limits.set(limit.id, limit)
    this.table.update(limits.map((limit) => ({ id: limit.id, limit })))
  }

  has(rule: Rule): boolean {
    return this.#without !== rule
  }

  start(clockOffMs = 0): GatewayInWorld {
    this.#producers += 1
    const gateway = new GatewayInWorld(this, `p${this.#producers}`, clockOffMs)
    gateway.nextTickMs = this.nowMs + this.random(100)
    this.gateways.push(gateway)
    return gateway
  }

  get alive(): GatewayInWorld[] {
    return this.gateways.filter(({ isDead }) => !isDead)
  }

  at(atMs: number, owner: GatewayInWorld | null, task: () => void, isDeadline = false): void {
    this.#timers.push({ atMs, order: this.#order++, owner, task, isDeadline })
  }

  /** Lets time pass, and all that is due happen in its order. */
  async pass(ms: number): Promise<void> {
    const endMs = this.nowMs + ms
    await settle()
    for (;;) {
      let next: Timer | null = null
      for (const timer of this.#timers)
        if (next === null || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.order < next.order))
          next = timer
      let ticking: GatewayInWorld | null = null
      for (const gateway of this.alive)
        if (ticking === null || gateway.nextTickMs < ticking.nextTickMs) ticking = gateway
      const timerMs = next?.atMs ?? Number.POSITIVE_INFINITY
      const tickMs = ticking?.nextTickMs ?? Number.POSITIVE_INFINITY
      if (Math.min(timerMs, tickMs) > endMs) break
      if (next !== null && timerMs <= tickMs) {
        this.#timers.splice(this.#timers.indexOf(next), 1)
        this.#moveTo(timerMs)
        const { owner } = next
        if (owner?.isDead === true) continue
        if (owner !== null && owner.pausedUntilMs > this.nowMs)
          this.at(owner.pausedUntilMs + (next.isDeadline ? 1 : 0), owner, next.task)
        else next.task()
      } else if (ticking !== null) {
        this.#moveTo(tickMs)
        if (ticking.pausedUntilMs > this.nowMs) ticking.nextTickMs = ticking.pausedUntilMs
        else {
          ticking.nextTickMs = this.nowMs + 100
          ticking.engine.tick()
        }
      }
      await settle()
    }
    this.#moveTo(endMs)
  }

  #moveTo(ms: number): void {
    if (ms <= this.nowMs) return
    this.wallMs += ms - this.nowMs
    this.nowMs = ms
  }

  overPostgres<Answer>(gateway: GatewayInWorld, run: () => Answer): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.at(this.nowMs + this.random(10), null, () => {
      if (this.postgresAwayUntilMs > this.nowMs) {
        this.at(this.nowMs + this.random(500), gateway, () => reject(new Error('away')))
        return
      }
      const answer = run()
      this.at(this.nowMs + this.random(10), gateway, () => resolve(answer))
    })
    return promise
  }

  hasSign(gatewayId: string): boolean {
    return this.nowMs - (this.signs.get(gatewayId) ?? Number.NEGATIVE_INFINITY) < 4_000
  }

  readSpent(budgets: readonly BudgetToRead[], producers: readonly string[], gateway: GatewayInWorld) {
    const { promise, resolve, reject } = Promise.withResolvers<{
      spentPico: bigint[]
      jobsPico: bigint[]
      committedOffsets: Map<string, number>
    }>()
    this.at(this.nowMs + this.random(10), null, () => {
      if (this.postgresAwayUntilMs > this.nowMs) {
        this.at(this.nowMs + this.random(500), gateway, () => reject(new Error('away')))
        return
      }
      const spentPico = budgets.map((budget) => this.spentOf(budget))
      const read = () =>
        new Map(
          producers.flatMap((id): [string, number][] => {
            const offset = this.offsets.get(id)
            return offset === undefined ? [] : [[id, offset]]
          }),
        )
      const before = read()
      const isLong = !this.has('oneMoment') || this.random(20) === 0
      const delayMs = this.random(isLong ? 1_500 : 10)
      this.at(this.nowMs + delayMs, gateway, () =>
        resolve({ spentPico, jobsPico: [], committedOffsets: this.has('oneMoment') ? before : read() }),
      )
    })
    return promise
  }

  spentOf({ fromDay, toDay, ...whose }: Whose & Pick<BudgetToRead, 'fromDay' | 'toDay'>): bigint {
    let sum = 0n
    for (const record of this.committed)
      if (record.day >= fromDay && (toDay === null || record.day <= toDay) && isOf(record, whose))
        sum += record.cost
    return sum
  }

  /** What all recorded calls of a day cost, counted or not, with corrections. */
  truthOf(day: string, whose: Whose = {}): bigint {
    let sum = this.spentOf({ ...whose, fromDay: day, toDay: day })
    for (const { journal, shipped } of this.gateways)
      for (const record of journal.slice(shipped))
        if (record.day === day && isOf(record, whose)) sum += record.cost
    return sum
  }

  call(
    gateway: GatewayInWorld,
    estimate: bigint,
    cost: bigint,
    { clientId, user }: Caller = ONLY,
    tokens = 100,
  ): CallInWorld {
    const call: CallToLimit = {
      clientId,
      axes: user === null ? undefined : `user=${user}`,
      keyId: 'k',
      model: 'm',
      arrivedAtMs: this.wallMs + gateway.clockOffMs,
      estimatedPico: estimate,
      estimatedTokens: tokens,
      client: { destroyed: false },
    }
    const made: CallInWorld = {
      gateway,
      call,
      cost,
      reservation: null,
      isRefused: false,
      admittedAtMs: Number.POSITIVE_INFINITY,
      endedAtMs: Number.POSITIVE_INFINITY,
      isRecorded: false,
    }
    const take = (answer: Reservation | LimitRefusal | null) => {
      if (gateway.isDead) return
      if (answer === null) throw new Error('no limit held')
      if ('error' in answer) {
        made.isRefused = true
        this.refusals.push({ refusal: answer, atMs: this.nowMs })
      } else {
        made.reservation = answer
        made.admittedAtMs = this.nowMs
        this.calls.push(made)
      }
    }
    if (gateway.pausedUntilMs > this.nowMs) return made
    const answer = gateway.engine.admit(call)
    if (answer instanceof Promise) void answer.then(take)
    else take(answer)
    return made
  }

  /** A session has cost so much more. @returns Why it has to end; `null`: it goes on. */
  grow(session: CallInWorld, pico: bigint): LimitRefusal | null {
    if (session.gateway.pausedUntilMs > this.nowMs || session.gateway.isDead) return null
    session.cost += pico
    return session.reservation?.progress(session.cost) ?? null
  }

  /** The call ends: its record is written, or it never went upstream. */
  end(call: CallInWorld, isRecorded = true): void {
    const { gateway, reservation } = call
    if (reservation === null || call.endedAtMs <= this.nowMs || gateway.isDead) return
    if (gateway.pausedUntilMs > this.nowMs) return
    call.endedAtMs = this.nowMs
    if (!this.has('settlesFirst')) reservation.release()
    if (isRecorded) {
      call.isRecorded = true
      const own = gateway.write(recordOf(call))
      const sequence = this.has('ownSequence') ? own : own + 1
      const used = { model: 'm', costPico: call.cost, tokens: 50, cachedTokens: 0 }
      if (this.has('settlesFirst')) reservation.settle([used], sequence)
    }
    reservation.release()
  }

  get running(): CallInWorld[] {
    return this.calls.filter(({ endedAtMs, gateway }) => endedAtMs > this.nowMs && !gateway.isDead)
  }

  /** The worker counts some of what a journal has. */
  ship(gateway: GatewayInWorld, records: number): void {
    if (this.postgresAwayUntilMs > this.nowMs) return
    for (let left = records; left > 0 && gateway.shipped < gateway.journal.length; left -= 1) {
      const record = gateway.journal[gateway.shipped]
      gateway.shipped += 1
      if (record === undefined) return
      this.committed.push(record)
      const producer = gateway.producerOf(record.clientId)
      this.offsets.set(producer, (this.offsets.get(producer) ?? 0) + 1)
    }
  }

  /** Calls of which the others would hear late if the gateway were killed: those that run, and what it has not reported. */
  unknownOf(gateway: GatewayInWorld): CallInWorld[] {
    return this.calls.filter((call) => call.gateway === gateway && call.endedAtMs > this.nowMs - 1_200)
  }

  /** kill -9: calls under way end now, and an adopter writes their records. */
  kill(gateway: GatewayInWorld): void {
    for (const call of this.calls)
      if (call.gateway === gateway && call.endedAtMs > this.nowMs) {
        call.endedAtMs = this.nowMs
        gateway.write(recordOf(call))
      }
    gateway.isDead = true
    gateway.isConnected = false
    gateway.killedAtMs = this.nowMs
  }

  usd(pico: bigint): string {
    return picoToUsdText(pico)
  }
}

function recordOf({ call, cost }: CallInWorld): JournalRecord {
  const user = call.axes?.slice('user='.length) ?? null
  return { day: utcDayOf(call.arrivedAtMs), cost, clientId: call.clientId, user }
}

function isOf({ clientId, user }: Caller, whose: Whose): boolean {
  return (whose.clientId ?? clientId) === clientId && (whose.value ?? user) === user
}

export async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await Promise.resolve()
}
