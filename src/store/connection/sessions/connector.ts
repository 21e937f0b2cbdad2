import pg from 'pg'
import { parsePostgresUrl } from '../../../domain/postgres-url/postgres-url.ts'
import type { Logger } from '../../../lib/logger.ts'
import { listCandidates, type ServerCandidate, ServerChoice, unfitness } from './server-candidates.ts'
import {
  readSessionState,
  type SessionLimits,
  setInTransactions,
  silenceLimitMs,
  startupOptions,
} from './session-settings.ts'

export interface ServerConnectorOptions extends SessionLimits {
  readonly url: string
  readonly applicationName: string
  /** A server that cannot be written to will do. */
  readonly readsOnly: boolean
  /** `false`: each statement waits for the one before, as `copy` needs. */
  readonly isPipelined?: boolean
  readonly log: Logger
}

const CONNECT_TIMEOUT_MS = 3_000
/** A host that swallows packets costs less where another one may answer. */
const CONNECT_ONE_OF_MS = 2_000

const DATE_OID = 1082
/** A pooler answers so to a parameter that it does not know. */
const PROTOCOL_VIOLATION = '08P01'

/** How one connection is made. */
interface ConnectionPlan {
  readonly config: pg.ClientConfig
  readonly candidate: ServerCandidate
  readonly generation: number
  /** The settings are sent when the connection begins. */
  readonly withOptions: boolean
}

/** Makes connections to the servers of one URL, and knows which of them is the right one now. */
export class ServerConnector {
  readonly choice: ServerChoice
  readonly connectTimeoutMs: number
  readonly #options: ServerConnectorOptions
  readonly #config: pg.ClientConfig
  readonly #serverOptions: string
  /** A pooler stands before the server and refuses startup options, or ignores them. */
  #pooled = false
  #adjustments = 0
  readonly #plans = new WeakMap<object, ConnectionPlan>()

  /** @throws When the URL cannot work, in one sentence, or a file of a certificate cannot be read. */
  constructor(options: ServerConnectorOptions) {
    const parsed = parsePostgresUrl(options.url)
    if ('problem' in parsed) throw new Error(`the PostgreSQL URL ${parsed.problem}`)
    const url = parsed.value
    this.#options = options
    this.choice = new ServerChoice(listCandidates(url, options.readsOnly))
    const given = url.connectTimeoutSeconds === null ? null : url.connectTimeoutSeconds * 1000
    this.connectTimeoutMs = given ?? (this.choice.size > 1 ? CONNECT_ONE_OF_MS : CONNECT_TIMEOUT_MS)
    // Ours last: they win where both name a setting.
    this.#serverOptions = [url.options, startupOptions(options)].filter((it) => it !== null).join(' ')
    this.#config = {
      application_name: url.applicationName ?? options.applicationName,
      connectionTimeoutMillis: this.connectTimeoutMs,
      query_timeout: silenceLimitMs(options),
      ...(options.isPipelined === false ? {} : PIPELINED),
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      types: { getTypeParser },
    }
  }

  /** How often a connection was refused because of startup options, which are left out from then on. */
  get adjustments(): number {
    return this.#adjustments
  }

  /** Options of the next connection. */
  plan(): ConnectionPlan {
    const candidate = this.choice.next(performance.now())
    const withOptions = !this.#pooled
    return {
      candidate,
      generation: this.choice.generation,
      withOptions,
      config: {
        ...this.#config,
        ...candidate.config,
        ...(withOptions && { options: this.#serverOptions }),
      },
    }
  }

  /** Follows a client that is about to connect. */
  follow(client: pg.Client, plan: ConnectionPlan): void {
    this.#plans.set(client, plan)
    CONNECTORS.set(client, this)
    let connecting = true
    const failed = (error?: unknown) => {
      if (connecting && plan.withOptions && isRefusedOption(error)) this.#withoutOptions()
      else if (connecting) this.choice.giveUp(plan.candidate, reasonOf(error), performance.now())
      connecting = false
    }
    // These come before the driver tells its caller, so that the next attempt goes to the next server.
    client.connection.once('error', failed)
    client.connection.once('errorMessage', failed)
    client.connection.once('end', () => failed())
    client.once('connect', () => {
      connecting = false
    })
    // When the server ends the session, the query under way rejects. Without a listener the event would end the
    // process.
    client.on('error', () => {})
  }

  /**
   * Looks at a connection that has just been made.
   *
   * @throws When its server is none that will do; the next connection goes to another.
   */
  async check(client: pg.ClientBase): Promise<void> {
    const candidate = this.#plans.get(client)?.candidate
    if (candidate === undefined) return
    let reason: string | null
    try {
      const state = await readSessionState(client, this.connectTimeoutMs)
      reason = unfitness(candidate.need, state)
      if (!state.keepsSettings) {
        this.#noticePooler()
        setInTransactions(client, this.#options)
      }
    } catch (error) {
      this.choice.giveUp(candidate, reasonOf(error), performance.now())
      throw error
    }
    if (reason === null) return
    this.choice.giveUp(candidate, reason, performance.now())
    throw new Error(`the PostgreSQL server ${candidate.name} ${reason}`)
  }

  /** Tells whether the connection may lead to a server that is no longer the right one. */
  isOutdated(client: object): boolean {
    return this.#plans.get(client)?.generation !== this.choice.generation
  }

  /**
   * A server that this connection leads to refuses to be written to: after a failover the connections to it are
   * worthless.
   */
  refusedWrite(client: object): void {
    const plan = this.#plans.get(client)
    if (plan === undefined || plan.generation !== this.choice.generation) return
    this.choice.outdate()
    this.choice.giveUp(plan.candidate, 'cannot be written to', performance.now())
  }

  #withoutOptions(): void {
    this.#adjustments += 1
    this.#noticePooler()
  }

  #noticePooler(): void {
    if (!this.#pooled)
      this.#options.log.info(
        { event: 'postgres.pooler' },
        'a pooler answers: settings go with each transaction',
      )
    this.#pooled = true
  }
}

const CONNECTORS = new WeakMap<object, ServerConnector>()

/** The connector that made this connection; `null`: something else. */
export function connectorOf(client: object): ServerConnector | null {
  return CONNECTORS.get(client) ?? null
}

/** The driver's client, made for the server that is chosen at that moment. */
export function clientClass(connector: ServerConnector): new () => pg.Client {
  return class extends pg.Client {
    constructor() {
      const plan = connector.plan()
      super(plan.config)
      connector.follow(this, plan)
    }
  }
}

/**
 * Tries one server after the other until `connect` gives a connection, and each once at most.
 *
 * @throws The error of the only server, or one that says of each why it cannot be used.
 */
export async function connectInTurn<T>(connector: ServerConnector, connect: () => Promise<T>): Promise<T> {
  const { choice } = connector
  const firstMoves = choice.moves
  for (;;) {
    const { moves } = choice
    const { adjustments } = connector
    try {
      return await connect()
    } catch (error) {
      if (connector.adjustments !== adjustments) continue
      // Not about a server: all connections are in use, or the pool has ended.
      if (choice.moves === moves) throw error
      if (choice.moves - firstMoves < choice.size) continue
      if (choice.size === 1) throw error
      throw new Error(`no PostgreSQL server can be used: ${choice.describe()}`, { cause: error })
    }
  }
}

/** Statements that are not awaited one by one are sent at once, and run in the order in which they were sent. */
const PIPELINED = { pipeline: true } as const

/** The driver's parsers, but a date stays text: as a `Date` it would shift with the process's time zone. */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === DATE_OID ? (text: string) => text : pg.types.getTypeParser(oid, format)

function isRefusedOption(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError &&
    error.code === PROTOCOL_VIOLATION &&
    error.message.includes('startup parameter')
  )
}

function reasonOf(error: unknown): string {
  if (error === undefined) return 'ended the connection'
  return error instanceof Error ? error.message || String(Reflect.get(error, 'code')) : String(error)
}
