import type pg from 'pg'

/**
 * These settings free the locks of a process that froze or vanished. The session ends when its transaction idles, no
 * lock is awaited without limit, and the server notices a peer that no longer acknowledges bytes. `synchronous_commit`:
 * a commit that was answered is on disk.
 */
const SETTINGS = [
  ['idle_in_transaction_session_timeout', '10000'],
  ['lock_timeout', '5000'],
  ['synchronous_commit', 'on'],
  ['timezone', 'UTC'],
] as const

/** Settings of the server's own connection. Behind a pooler it is not ours, and the pooler has such settings itself. */
const SOCKET_SETTINGS = [
  ['tcp_user_timeout', '10000'],
  ['tcp_keepalives_idle', '10'],
  ['tcp_keepalives_interval', '3'],
] as const

/** Says that this connection was given its settings when it began. */
const SIGN = 'tallygate.settings'

/** The settings that differ from pool to pool. */
export interface SessionLimits {
  /** Longest a statement may run, by the server's clock. */
  readonly statementTimeoutMs: number
  /** Memory that a sort or a grouping may hold; `null`: as the server has it. */
  readonly workMemoryMb: number | null
}

function settingsOf({ statementTimeoutMs, workMemoryMb }: SessionLimits): readonly (readonly string[])[] {
  const memory = workMemoryMb === null ? [] : [['work_mem', `${workMemoryMb}MB`]]
  return [...SETTINGS, ['statement_timeout', `${statementTimeoutMs}`], ...memory]
}

/** The settings as the server's command line has them, to be sent when a connection begins. */
export function startupOptions(limits: SessionLimits): string {
  return [...settingsOf(limits), ...SOCKET_SETTINGS, [SIGN, 'on']]
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
}

/** The same for one transaction: what follows `begin` in one text, so that it costs no round trip. */
function localSettings(limits: SessionLimits): string {
  return settingsOf(limits)
    .map(([name, value]) => `; set local ${name} = '${value}'`)
    .join('')
}

/** The statements that follow each `begin` on this connection. None: the connection keeps its settings. */
const LOCAL_SETTINGS = new WeakMap<object, string>()

/** Sends the settings with each transaction of this connection from now on. */
export function setInTransactions(session: object, limits: SessionLimits): void {
  LOCAL_SETTINGS.set(session, localSettings(limits))
}

/** The settings that a connection was given last; absent: those it began with. */
const GIVEN = new WeakMap<object, SessionLimits>()

/**
 * Gives a connection other limits, for as long as it is lent: one round trip less than a statement of its own, as it is
 * sent ahead of the next one and not waited for.
 */
export function useLimits(session: pg.ClientBase, limits: SessionLimits): void {
  if (GIVEN.get(session) === limits) return
  GIVEN.set(session, limits)
  limitSilence(session, limits)
  if (isPooled(session)) setInTransactions(session, limits)
  else session.query(sessionSettings(limits)).catch(() => {}) // it broke, and the next statement says so
}

function sessionSettings({ statementTimeoutMs, workMemoryMb }: SessionLimits): string {
  const memory = workMemoryMb === null ? 'reset work_mem' : `set work_mem = '${workMemoryMb}MB'`
  return `set statement_timeout = ${statementTimeoutMs}; ${memory}`
}

/** How long the server may be silent beyond the statement's own limit before the client closes the connection. */
const SILENCE_MS = 5_000

/** The driver's limit for an answer, of statements that name none themselves. */
export function silenceLimitMs({ statementTimeoutMs }: SessionLimits): number {
  return statementTimeoutMs + SILENCE_MS
}

/** The driver reads it at each statement. */
function limitSilence(session: object, limits: SessionLimits): void {
  const parameters: unknown = Reflect.get(session, 'connectionParameters')
  if (typeof parameters === 'object' && parameters !== null)
    Reflect.set(parameters, 'query_timeout', silenceLimitMs(limits))
}

/** The settings hold in transactions only: each server connection may serve other clients in between. */
export function isPooled(session: object): boolean {
  return LOCAL_SETTINGS.has(session)
}

/**
 * Begins a transaction in which the settings hold, in one round trip.
 *
 * @param how Such as `isolation level read committed`.
 */
export async function beginTransaction(session: Pick<pg.ClientBase, 'query'>, how: string): Promise<void> {
  await session.query(`begin ${how}${LOCAL_SETTINGS.get(session) ?? ''}`)
}

/** The state that a server tells of a connection that has just begun. */
export interface SessionState {
  /** It recovers: a standby. */
  readonly standby: boolean
  readonly readOnly: boolean
  /** The server gave this connection its settings, and no pooler answered in the server's place. */
  readonly keepsSettings: boolean
}

const STATE = `select pg_backend_pid() as pid, pg_is_in_recovery() as standby,
  current_setting('transaction_read_only') = 'on' as read_only,
  current_setting('${SIGN}', true) as settings`

interface StateRow {
  readonly pid: number
  readonly standby: boolean
  readonly read_only: boolean
  readonly settings: string | null
}

/**
 * Asks a connection what it is. A pooler gives process numbers of its own to its clients, so a server that answers with
 * another number stands behind one.
 *
 * @throws When there is no answer within `limitMs`.
 */
export async function readSessionState(
  session: Pick<pg.ClientBase, 'query'>,
  limitMs: number,
): Promise<SessionState> {
  const config: LimitedQuery = { text: STATE, query_timeout: limitMs }
  const { rows } = await session.query<StateRow>(config)
  const [row] = rows
  if (row === undefined) throw new Error('a server said nothing of its state')
  return {
    standby: row.standby,
    readOnly: row.read_only,
    keepsSettings: row.settings === 'on' && row.pid === Reflect.get(session, 'processID'),
  }
}

/** The driver accepts a limit for each statement, which its types lack. */
interface LimitedQuery extends pg.QueryConfig {
  readonly query_timeout: number
}
