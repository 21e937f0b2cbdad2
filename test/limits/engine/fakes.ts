import { LimitEngine } from '../../../src/limits/engine/limit-engine.ts'
import type { CallToLimit, LimitRefusal, Reservation } from '../../../src/limits/engine/limiter.ts'
import type { Limit } from '../../../src/limits/limit.ts'
import { reportedFieldName, TOKEN_FIELD } from '../../../src/limits/sharing/known-gateways.ts'
import type {
  BudgetToRead,
  ExchangeReply,
  ExchangeRequest,
  KeptSince,
  LimitStore,
} from '../../../src/limits/sharing/limit-store.ts'
import { NO_OTHERS, type OtherSubjects } from '../../../src/limits/subject.ts'

export const USD = 1_000_000_000_000n
/** Sunday, 22 November 2026, 12:00 UTC. */
export const NOON_MS = Date.UTC(2026, 10, 22, 12)

/** A clock that only a test moves. */
export class TestClock {
  nowMs = 1_000_000
  wallMs = NOON_MS

  pass(ms: number): void {
    this.nowMs += ms
    this.wallMs += ms
  }
}

/** The script of Redis, in one process. */
export class RedisStandIn implements LimitStore {
  readonly hashes = new Map<string, Map<string, string>>()
  /** How long each is kept after its last write. */
  readonly keepMs = new Map<string, number>()
  readonly #clock: TestClock
  isAway = false
  /** It answers whether it is there, and no client's exchange. */
  isHalfAway = false
  /** A client's exchange is answered so late. */
  answersAfterMs = 0
  readonly #late = new Map<() => void, number>()
  exchanges = 0
  keptFromMs: number | null = null
  /** How far its clock is off. */
  offMs = 0

  constructor(clock: TestClock) {
    this.#clock = clock
  }

  async keptSince(): Promise<KeptSince> {
    await Promise.resolve()
    if (this.isAway) throw new Error('Redis is away')
    this.keptFromMs ??= this.#clock.wallMs
    return { beganMs: this.keptFromMs, ageMs: this.#clock.wallMs - this.keptFromMs }
  }

  /** FLUSHALL. */
  flush(): void {
    this.hashes.clear()
    this.keptFromMs = null
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeReply> {
    const dueMs = this.#clock.nowMs + this.answersAfterMs
    if (this.answersAfterMs > 0) await new Promise<void>((resolve) => this.#late.set(resolve, dueMs))
    else await Promise.resolve()
    return this.answer(request)
  }

  /** Answers what is due by now. */
  answerLate(): void {
    for (const [answer, dueMs] of this.#late)
      if (dueMs <= this.#clock.nowMs && this.#late.delete(answer)) answer()
  }

  answer({ name, keepMs, token, newToken, gatewayId, writes }: ExchangeRequest): ExchangeReply {
    if (this.isAway || this.isHalfAway) throw new Error('Redis is away')
    this.exchanges += 1
    const redisMs = this.#clock.wallMs + this.offMs
    const hash = this.hashes.get(name) ?? new Map<string, string>()
    if ((hash.get(TOKEN_FIELD) ?? '') !== token) return { isTaken: false, fields: new Map(hash), redisMs }
    for (let at = 0; at < writes.length; at += 2) {
      const [field = '', value = ''] = writes.slice(at, at + 2)
      if (value === '') hash.delete(field)
      else hash.set(field, value)
    }
    hash.set(reportedFieldName(gatewayId), `${redisMs}`)
    hash.set(TOKEN_FIELD, newToken)
    this.hashes.set(name, hash)
    this.keepMs.set(name, keepMs)
    return { isTaken: true, fields: new Map(), redisMs }
  }
}

interface Committed {
  readonly clientId: string
  readonly axes?: string
  readonly groups?: readonly string[]
  readonly keyId: string
  readonly model: string
  readonly day: string
  pico: bigint
}

/** What the worker has committed. */
export class PostgresStandIn {
  readonly rows: Committed[] = []
  /** Waiting jobs, with what they reserve. */
  readonly jobs: Committed[] = []
  readonly offsets = new Map<string, number>()
  isAway = false
  reads = 0

  readonly readSpent = async (budgets: readonly BudgetToRead[], producers: readonly string[]) => {
    await Promise.resolve()
    if (this.isAway) throw new Error('Postgres is away')
    this.reads += 1
    return {
      spentPico: budgets.map((budget) => this.spentOf(budget)),
      jobsPico: budgets.map((budget) => this.spentOf(budget, this.jobs)),
      committedOffsets: new Map(
        producers.flatMap((id): [string, number][] => {
          const offset = this.offsets.get(id)
          return offset === undefined ? [] : [[id, offset]]
        }),
      ),
    }
  }

  spentOf(budget: BudgetToRead, rows = this.rows): bigint {
    const { clientId, groupId, axis, value, keyId, model, fromDay, toDay } = budget
    let sum = 0n
    for (const row of rows) {
      if (clientId !== null && row.clientId !== clientId) continue
      if (groupId !== null && row.groups?.includes(groupId) !== true) continue
      if (axis !== null && row.axes?.split('\n').includes(`${axis}=${value}`) !== true) continue
      if (keyId !== null && keyId !== row.keyId) continue
      const isOfModel =
        model === null ||
        (model.endsWith('*') ? row.model.startsWith(model.slice(0, -1)) : row.model === model)
      if (isOfModel && row.day >= fromDay && (toDay === null || row.day <= toDay)) sum += row.pico
    }
    return sum
  }

  commit(producer: string, offset: number, row: Committed): void {
    this.offsets.set(producer, offset)
    this.rows.push(row)
  }
}

export function limitOf(id: string, changes: Partial<Limit> = {}): Limit {
  return {
    id,
    clientId: 'c',
    groupId: null,
    axis: null,
    value: null,
    keyId: null,
    formerKeys: [],
    model: null,
    kind: 'budget',
    amount: USD,
    raise: null,
    per: changes.kind === undefined || changes.kind === 'budget' ? 'day' : null,
    isSoft: false,
    since: null,
    countsCached: true,
    allowsUnpriced: false,
    whenAlone: 'refuse',
    ...changes,
  }
}

export function callOf(changes: Partial<CallToLimit> = {}): CallToLimit {
  return {
    clientId: 'c',
    keyId: 'k',
    model: 'gpt-4o',
    arrivedAtMs: NOON_MS,
    estimatedPico: USD / 100n,
    estimatedTokens: 100,
    client: { destroyed: false },
    ...changes,
  }
}

/** Lets all that waits for answers go on, until nothing more happens. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

/** What becomes of a call; `undefined`: it waits. */
export type Answer = Reservation | LimitRefusal | null | undefined

export async function admit(gateway: LimitEngine, call: CallToLimit): Promise<Answer> {
  let answer: Answer
  void Promise.resolve(gateway.admit(call)).then((value) => {
    answer = value
  })
  await settled()
  return answer
}

export function held(answer: Answer): Reservation {
  if (answer === undefined || answer === null || 'error' in answer)
    throw new Error(`not admitted: ${JSON.stringify(answer)}`)
  return answer
}

/** Some gateways over one Redis and one Postgres. */
export class Fleet {
  readonly clock = new TestClock()
  readonly redis = new RedisStandIn(this.clock)
  readonly postgres = new PostgresStandIn()
  limits: readonly Limit[]
  others: OtherSubjects = NO_OTHERS
  mostValues = 1_000
  readonly gateways: LimitEngine[] = []
  /** When gateways said in Postgres that they run, and those that were killed. */
  readonly #signs = new Map<string, number>()
  readonly #killed = new Set<string>()
  readonly #dead = new Set<LimitEngine>()
  readonly standsStill = new Set<LimitEngine>()
  /** Gateways that cannot reach Redis, those whose connection is gone as Redis sees it, and those without Postgres. */
  readonly cutOff = new Set<string>()
  readonly closed = new Set<string>()
  readonly withoutPostgres = new Set<string>()

  constructor(limits: readonly Limit[], gateways = 1) {
    this.limits = limits
    for (let number = 1; number <= gateways; number += 1) this.start(`p${number}`)
  }

  start(producer: string, hadPeers = false): LimitEngine {
    const mostValues = () => this.mostValues
    const gatewayId = `g${producer}`
    const reach = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
      if (this.cutOff.has(gatewayId)) throw new Error('Redis cannot be reached')
      return await ask()
    }
    const engine = new LimitEngine({
      gatewayId,
      hadPeers: async () => hadPeers,
      lifeSigns: {
        give: async () => {
          await Promise.resolve()
          if (this.postgres.isAway || this.withoutPostgres.has(gatewayId)) throw new Error('Postgres is away')
          this.#signs.set(gatewayId, this.clock.nowMs)
        },
        findMissing: async (ids) => {
          await Promise.resolve()
          if (this.postgres.isAway || this.redis.isAway) throw new Error('not known')
          const silent = ids.filter((id) => this.clock.nowMs - (this.#signs.get(id) ?? 0) >= 4_000)
          return new Map(
            silent.map((id) => [id, this.#killed.has(id) || this.closed.has(id) ? 'ended' : 'silent']),
          )
        },
      },
      limitsOf: (clientId) => (clientId === 'c' ? this.limits : []),
      store: {
        exchange: (request) => reach(() => this.redis.exchange(request)),
        keptSince: () => reach(() => this.redis.keptSince()),
      },
      readSpent: this.postgres.readSpent,
      others: {
        of: (clientId, axes) => this.others.of(clientId, axes),
        limitsOf: (subject) => this.others.limitsOf(subject),
      },
      producerOf: () => producer,
      producers: [producer],
      get mostValues() {
        return mostValues()
      },
      now: () => this.clock.nowMs,
      wallNow: () => this.clock.wallMs,
      defer: (task) => queueMicrotask(task),
    })
    this.gateways.push(engine)
    return engine
  }

  /** kill -9. */
  kill(gateway: LimitEngine): void {
    this.#killed.add(`gp${this.gateways.indexOf(gateway) + 1}`)
    this.#dead.add(gateway)
  }

  get first(): LimitEngine {
    const [first] = this.gateways
    if (first === undefined) throw new Error('no gateway')
    return first
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      this.clock.pass(Math.min(left, 100))
      this.redis.answerLate()
      for (const gateway of this.gateways)
        if (!this.#dead.has(gateway) && !this.standsStill.has(gateway)) gateway.tick()
      await settled()
    }
  }
}
