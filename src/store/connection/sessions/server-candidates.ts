import { readFileSync } from 'node:fs'
import { type ConnectionOptions, checkServerIdentity, type SecureVersion } from 'node:tls'
import type pg from 'pg'
import type { SessionAttrs } from '../../../domain/postgres-url/parameters.ts'
import type { PostgresHost, PostgresUrl } from '../../../domain/postgres-url/postgres-url.ts'

/** What a server has to be for a connection to it to be used. */
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
  // Of several servers, one that cannot be written to is never the one that is meant.
  const need = sessionAttrs === 'any' && !readsOnly && url.hosts.length > 1 ? 'read-write' : sessionAttrs
  return found.map((it) => ({ ...it, need, isSecondChoice: false }))
}

function configOf(url: PostgresUrl, { host, port }: PostgresHost, ssl: Tls | undefined): pg.ClientConfig {
  return {
    // What is left out the driver takes from PGUSER, PGPASSWORD and so on.
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
