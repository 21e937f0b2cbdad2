import { percentDecoded } from '../canonical-path.ts'
import {
  readParameters,
  SESSION_ATTRS,
  type SessionAttrs,
  TLS_MODES,
  type TlsMode,
  type UrlParameter,
} from './parameters.ts'

/** One server that a URL names. `null`: the driver's default. A host that begins with / is the folder of a socket. */
export interface PostgresHost {
  readonly host: string | null
  readonly port: number | null
}

/** A PostgreSQL URL taken apart. `null`: not said. */
export interface PostgresUrl {
  /** In the order in which they are tried. At least one. */
  readonly hosts: readonly PostgresHost[]
  readonly user: string | null
  readonly password: string | null
  readonly database: string | null
  readonly sessionAttrs: SessionAttrs
  readonly tlsMode: TlsMode | null
  /** Paths of PEM files; `rootCert` may be `system`: the authorities that this machine trusts. */
  readonly rootCert: string | null
  readonly clientCert: string | null
  readonly clientKey: string | null
  readonly clientKeyPassword: string | null
  /** TLS from the first byte, without asking for it. */
  readonly tlsDirect: boolean
  readonly tlsOldest: string | null
  readonly tlsNewest: string | null
  readonly channelBinding: boolean
  readonly connectTimeoutSeconds: number | null
  /** Tells whether each process tries the hosts in an order of its own. */
  readonly shuffled: boolean
  readonly applicationName: string | null
  /** Settings of the server, as its command line has them: `-c name=value`. */
  readonly options: string | null
}

type Parsed<T> = { readonly value: T } | { readonly problem: string }

const SCHEME = /^(postgres|postgresql|socket):\/\//

/**
 * Takes a URL apart as libpq does: https://www.postgresql.org/docs/current/libpq-connect.html, section 32.1.1.2.
 * `socket:///folder?db=name`, the driver's own form, is read too.
 *
 * @returns `problem`: one sentence that follows the variable's name. It shows nothing of the URL but names of parameters.
 */
export function parsePostgresUrl(text: string): Parsed<PostgresUrl> {
  const [prefix, scheme] = SCHEME.exec(text) ?? []
  if (prefix === undefined) return { problem: 'must begin with postgres:// or postgresql:// or socket://' }
  const [, authority = '', path = '', query = ''] =
    /^([^/?]*)(\/[^?]*)?(?:\?(.*))?$/s.exec(text.slice(prefix.length)) ?? []
  const socket = scheme === 'socket'
  const parameters = readParameters(socket ? withLibpqNames(query) : query)
  if ('problem' in parameters) return parameters
  const { values } = parameters

  const at = authority.lastIndexOf('@')
  const [user = '', ...password] = at < 0 ? [] : authority.slice(0, at).split(':')
  const named = [user, password.join(':'), path.slice(1)].map(percentDecoded)
  const [userName, userPassword, pathName] = named
  if (userName === null || userPassword === null || pathName === null)
    return { problem: 'has a % that is not followed by two hex digits' }

  const hosts = readHosts(
    values.get('host') ?? (socket ? `/${pathName}` : authority.slice(at + 1)),
    values.get('port'),
    !values.has('host') && !socket,
  )
  if ('problem' in hosts) return hosts
  const tls =
    oneOf(values, 'sslmode', TLS_MODES) ??
    legacyTls(values.get('ssl')) ??
    tlsOfRoot(values.get('sslrootcert'))
  if (tls !== null && typeof tls === 'object') return tls
  const sessionAttrs = oneOf(values, 'target_session_attrs', SESSION_ATTRS) ?? 'any'
  if (typeof sessionAttrs === 'object') return sessionAttrs
  const problem = otherProblem(values, tls)
  if (problem !== null) return { problem }
  const said = (name: UrlParameter) => orNull(values.get(name))
  return {
    value: {
      hosts: hosts.value,
      user: said('user') ?? orNull(userName),
      password: said('password') ?? orNull(userPassword),
      database: said('dbname') ?? (socket ? null : orNull(pathName)),
      sessionAttrs,
      tlsMode: tls,
      rootCert: said('sslrootcert'),
      clientCert: said('sslcert'),
      clientKey: said('sslkey'),
      clientKeyPassword: said('sslpassword'),
      tlsDirect: values.get('sslnegotiation') === 'direct',
      tlsOldest: said('ssl_min_protocol_version'),
      tlsNewest: said('ssl_max_protocol_version'),
      channelBinding: ['prefer', 'require'].includes(values.get('channel_binding') ?? ''),
      connectTimeoutSeconds: Number(values.get('connect_timeout') ?? 0) || null,
      shuffled: values.get('load_balance_hosts') === 'random',
      applicationName: said('application_name'),
      options: said('options'),
    },
  }
}

/** Tells whether every server that the URL accepts refuses to be written to. */
export function isReadOnlyUrl({ sessionAttrs }: Pick<PostgresUrl, 'sessionAttrs'>): boolean {
  return sessionAttrs === 'read-only' || sessionAttrs === 'standby' || sessionAttrs === 'prefer-standby'
}

/** The driver's own form of a socket's URL has names of its own. */
function withLibpqNames(query: string): string {
  return query.replace(/(^|&)db=/, '$1dbname=').replace(/(^|&)encoding=/, '$1client_encoding=')
}

/** `a:5432,b,[::1]:5433`; ports may be given apart, one for all or one each. */
function readHosts(
  list: string,
  ports: string | undefined,
  encoded: boolean,
): Parsed<readonly PostgresHost[]> {
  const names = list.split(',')
  const apart = ports === undefined ? [] : ports.split(',')
  if (apart.length > 1 && apart.length !== names.length)
    return { problem: 'must have one port for all hosts, or one for each' }
  const hosts: PostgresHost[] = []
  for (const [index, name] of names.entries()) {
    const [, bracketed, plain, own] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d*))?$/.exec(name) ?? []
    const isFolder = !encoded && name.startsWith('/')
    if (bracketed === undefined && plain === undefined && !isFolder)
      return { problem: 'has a host that is none: write name, name:port or [IPv6 address]:port' }
    const host = isFolder ? name : (bracketed ?? (encoded ? percentDecoded(plain ?? '') : plain))
    if (host === null) return { problem: 'has a % that is not followed by two hex digits' }
    const port = (isFolder ? '' : own) || apart[apart.length === 1 ? 0 : index] || ''
    if (port !== '' && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535))
      return { problem: 'has a port that is not a number from 1 to 65535' }
    hosts.push({ host: orNull(host), port: port === '' ? null : Number(port) })
  }
  return { value: hosts }
}

/** `null`: not said. */
function oneOf<Word extends string>(
  values: ReadonlyMap<UrlParameter, string>,
  name: UrlParameter,
  words: readonly Word[],
): Word | { readonly problem: string } | null {
  const text = values.get(name)
  if (text === undefined || text === '') return null
  return words.find((word) => word === text) ?? { problem: `must have a ${name} of ${words.join(', ')}` }
}

/** The driver's parameter `ssl`, from before it knew `sslmode`. */
function legacyTls(text: string | undefined): TlsMode | null {
  if (text === undefined) return null
  if (text === 'no-verify') return 'no-verify'
  return text === 'true' || text === '1' ? 'verify-full' : 'disable'
}

/** As libpq: who trusts all that this machine trusts has to check the name too. */
function tlsOfRoot(rootCert: string | undefined): TlsMode | null {
  return rootCert === SYSTEM_ROOTS ? 'verify-full' : null
}

const SYSTEM_ROOTS = 'system'

function otherProblem(values: ReadonlyMap<UrlParameter, string>, tls: TlsMode | null): string | null {
  if (!/^\d{0,4}$/.test(values.get('connect_timeout') ?? ''))
    return 'must have a connect_timeout in whole seconds'
  if (!['', 'auto', 'utf8', 'utf-8'].includes((values.get('client_encoding') ?? '').toLowerCase()))
    return 'must have no client_encoding but UTF8'
  if (!['', 'disable', 'prefer', 'require'].includes(values.get('channel_binding') ?? ''))
    return 'must have a channel_binding of disable, prefer, require'
  if (!['', 'disable', 'random'].includes(values.get('load_balance_hosts') ?? ''))
    return 'must have load_balance_hosts of disable, random'
  if (values.has('sslcert') !== values.has('sslkey')) return 'must have both sslcert and sslkey, or neither'
  if (values.get('sslrootcert') === SYSTEM_ROOTS && tls !== 'verify-full')
    return 'must have sslmode=verify-full, or none, with sslrootcert=system'
  if (tls === null && (values.has('sslrootcert') || values.has('sslcert')))
    return 'must have a sslmode with sslrootcert and sslcert: without it nothing is encrypted'
  if (values.get('sslnegotiation') !== 'direct') return null
  return tls === null || tls === 'disable' || tls === 'allow' || tls === 'prefer'
    ? 'must have sslmode=require, verify-ca or verify-full with sslnegotiation=direct'
    : null
}

function orNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text
}
