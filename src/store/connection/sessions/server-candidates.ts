import { readFileSync } from 'node:fs'
import { type ConnectionOptions, checkServerIdentity, type SecureVersion } from 'node:tls'
import type pg from 'pg'
import type { SessionAttrs } from '../../../domain/postgres-url/parameters.ts'
import type { PostgresHost, PostgresUrl } from '../../../domain/postgres-url/postgres-url.ts'
import type { SessionState } from './session-settings.ts'

/** The state that a server must have for a connection to it to be used. */
export type ServerNeed = Exclude<SessionAttrs, 'prefer-standby'>

/** One way to connect: a host, with TLS or without, and what its server has to be. */
export interface ServerCandidate {
  /** `host:port`, for messages. */
  readonly name: string
  readonly config: pg.ClientConfig
  readonly need: ServerNeed
  /** Taken for want of a better one, which is looked for again after a while. */
  readonly isSecondChoice: boolean
}

/**
 * The ways to connect to a URL's servers, in the order in which they are tried.
 *
 * @param readsOnly Whether a server that cannot be written to will do where the URL does not say.
 * @throws When a file of a certificate cannot be read.
 */
export function listCandidates(url: PostgresUrl, readsOnly: boolean): readonly ServerCandidate[] {
  const hosts = url.shuffled ? shuffle(url.hosts) : url.hosts
  const found = hosts.flatMap((host) =>
    tlsChoices(url, host).map((ssl) => ({ name: nameOf(host), config: configOf(url, host, ssl) })),
  )
  const { sessionAttrs } = url
  if (sessionAttrs === 'prefer-standby') {
    return [
      ...found.map((it) => ({ ...it, need: 'standby' as const, isSecondChoice: false })),
      ...found.map((it) => ({ ...it, need: 'any' as const, isSecondChoice: true })),
    ]
  }
  // Where there are several servers, one that cannot be written to is never the one that is meant.
  const need = sessionAttrs === 'any' && !readsOnly && url.hosts.length > 1 ? 'read-write' : sessionAttrs
  return found.map((it) => ({ ...it, need, isSecondChoice: false }))
}

function configOf(url: PostgresUrl, { host, port }: PostgresHost, ssl: Tls | undefined): pg.ClientConfig {
  return {
    // The driver takes what is left out from PGUSER, PGPASSWORD and so on.
    ...(url.user !== null && { user: url.user }),
    ...(url.password !== null && { password: url.password }),
    ...(url.database !== null && { database: url.database }),
    ...(host !== null && { host }),
    ...(port !== null && { port }),
    ...(ssl !== undefined && { ssl }),
    ...(url.tlsDirect && { sslnegotiation: 'direct' as const }),
    enableChannelBinding: url.channelBinding && typeof ssl === 'object',
  }
}

type Tls = false | ConnectionOptions

/** libpq's modes. `undefined`: what PGSSLMODE says, else none. */
function tlsChoices(url: PostgresUrl, { host }: PostgresHost): readonly (Tls | undefined)[] {
  if (host?.startsWith('/')) return [false]
  const keys = keysOf(url)
  const unchecked: ConnectionOptions = { ...keys, rejectUnauthorized: false }
  switch (url.tlsMode) {
    case null:
      return [undefined]
    case 'disable':
      return [false]
    case 'allow':
      return [false, unchecked]
    case 'prefer':
      return [unchecked, false]
    case 'no-verify':
      return [unchecked]
    case 'require':
      // As libpq: a certificate is checked where an authority is named, and the name in it is not.
      return [url.rootCert === null ? unchecked : { ...keys, checkServerIdentity: acceptAnyName }]
    case 'verify-ca':
      return [{ ...keys, checkServerIdentity: acceptAnyName }]
    case 'verify-full':
      return [{ ...keys, checkServerIdentity }]
  }
}

function acceptAnyName(): undefined {
  return undefined
}

function keysOf(url: PostgresUrl): ConnectionOptions {
  const { rootCert, clientCert, clientKey, clientKeyPassword, tlsOldest, tlsNewest } = url
  return {
    ...(rootCert !== null && rootCert !== 'system' && { ca: readFileSync(rootCert) }),
    ...(clientCert !== null && { cert: readFileSync(clientCert) }),
    ...(clientKey !== null && { key: readFileSync(clientKey) }),
    ...(clientKeyPassword !== null && { passphrase: clientKeyPassword }),
    ...(isTlsVersion(tlsOldest) && { minVersion: tlsOldest }),
    ...(isTlsVersion(tlsNewest) && { maxVersion: tlsNewest }),
  }
}

function isTlsVersion(text: string | null): text is SecureVersion {
  return text !== null && /^TLSv1(\.[123])?$/.test(text)
}

function nameOf({ host, port }: PostgresHost): string {
  if (host?.startsWith('/')) return host
  const name = host ?? 'localhost'
  return `${name.includes(':') ? `[${name}]` : name}:${port ?? 5432}`
}

function shuffle<T>(items: readonly T[]): readonly T[] {
  const ranked = items.map((item) => ({ item, rank: Math.random() }))
  return ranked.sort((left, right) => left.rank - right.rank).map(({ item }) => item)
}

/** After so long with a second choice, the first ones are tried again by the next connection. */
const SECOND_CHOICE_MS = 30_000

/** Which of the URL's servers the next connection goes to. It stays with one until that one fails. */
export class ServerChoice {
  readonly #candidates: readonly [ServerCandidate, ...ServerCandidate[]]
  readonly #reasons = new Map<ServerCandidate, string>()
  #current: ServerCandidate
  #chosenAtMs = 0
  #moves = 0
  #generation = 0

  /** @throws When there is no candidate. */
  constructor(candidates: readonly ServerCandidate[]) {
    const [first, ...others] = candidates
    if (first === undefined) throw new Error('a PostgreSQL URL names no server')
    this.#candidates = [first, ...others]
    this.#current = first
  }

  get size(): number {
    return this.#candidates.length
  }

  /** How often a server was given up. */
  get moves(): number {
    return this.#moves
  }

  /** Connections of an older generation may lead to a server that is no longer the right one. */
  get generation(): number {
    return this.#generation
  }

  /** The server for a new connection. */
  next(nowMs: number): ServerCandidate {
    const current = this.#current
    if (current.isSecondChoice && nowMs - this.#chosenAtMs > SECOND_CHOICE_MS) {
      this.#choose(this.#candidates[0], nowMs)
      return this.#current
    }
    return current
  }

  /** A connection to this server could not be made, or is none that will do. */
  giveUp(candidate: ServerCandidate, reason: string, nowMs: number): void {
    this.#reasons.set(candidate, reason)
    if (candidate !== this.#current) return // another connection gave it up before
    this.#moves += 1
    const index = (this.#candidates.indexOf(candidate) + 1) % this.#candidates.length
    this.#choose(this.#candidates[index] ?? candidate, nowMs)
  }

  /** The server that connections lead to cannot be written to any more: none of them is used again. */
  outdate(): void {
    this.#generation += 1
  }

  /** Why none of them can be used, without user and password. */
  describe(): string {
    const lines = this.#candidates.map((it) => `${it.name}: ${this.#reasons.get(it) ?? 'not tried'}`)
    return [...new Set(lines)].join('; ')
  }

  #choose(candidate: ServerCandidate, nowMs: number): void {
    this.#current = candidate
    this.#chosenAtMs = nowMs
  }
}

/** Why this server is not the one that is needed; `null`: it is. In libpq's meaning of `target_session_attrs`. */
export function unfitness(need: ServerNeed, { standby, readOnly }: SessionState): string | null {
  switch (need) {
    case 'any':
      return null
    case 'read-write':
      return readOnly ? 'cannot be written to' : null
    case 'read-only':
      return readOnly ? null : 'can be written to'
    case 'primary':
      return standby ? 'is a standby' : null
    case 'standby':
      return standby ? null : 'is not a standby'
  }
}
