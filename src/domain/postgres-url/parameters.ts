import { percentDecoded } from '../canonical-path.ts'

/** Which servers of several will do, in libpq's words. */
export const SESSION_ATTRS = [
  'any',
  'read-write',
  'read-only',
  'primary',
  'standby',
  'prefer-standby',
] as const
export type SessionAttrs = (typeof SESSION_ATTRS)[number]

/** libpq's modes of TLS, and `no-verify`, which is the driver's word for TLS without a check of the certificate. */
export const TLS_MODES = [
  'disable',
  'allow',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
  'no-verify',
] as const
export type TlsMode = (typeof TLS_MODES)[number]

/** The parameters that a URL may have beside user, hosts and database. */
const READ = [
  'host',
  'port',
  'dbname',
  'user',
  'password',
  'application_name',
  'channel_binding',
  'client_encoding',
  'connect_timeout',
  'load_balance_hosts',
  'options',
  'ssl',
  'ssl_max_protocol_version',
  'ssl_min_protocol_version',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslpassword',
  'sslrootcert',
  'target_session_attrs',
] as const
export type UrlParameter = (typeof READ)[number]

/** Parameters of libpq that change nothing here: settings of its own, or such as are always made here. */
const WITHOUT_EFFECT = [
  'fallback_application_name',
  'gssdelegation',
  'gsslib',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'krbsrvname',
  'sslcompression',
  'sslsni',
  'tcp_user_timeout',
  'uselibpqcompat',
]

/** Parameters of libpq that ask for what the driver cannot do, with what to do instead. */
const IMPOSSIBLE: Readonly<Record<string, string>> = {
  hostaddr: 'write the address as the host',
  passfile: 'give the password in the URL',
  replication: 'leave it out',
  require_auth: 'leave it out, and let the server decide',
  requirepeer: 'leave it out',
  service: 'write out what the service file says',
  servicefile: 'write out what the service file says',
  sslcrl: 'leave it out',
  sslcrldir: 'leave it out',
}

/** Takes the part after `?` apart. `problem`: one sentence, without any value. */
export function readParameters(
  query: string,
): { readonly values: ReadonlyMap<UrlParameter, string> } | { readonly problem: string } {
  const values = new Map<UrlParameter, string>()
  for (const part of query.split('&')) {
    if (part === '') continue
    const [, key = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(part) ?? []
    const name = percentDecoded(key)
    const text = percentDecoded(value)
    if (name === null || text === null) return { problem: 'has a % that is not followed by two hex digits' }
    const instead = IMPOSSIBLE[name]
    if (instead !== undefined) return { problem: `cannot have the parameter ${name}: ${instead}` }
    const known = READ.find((it) => it === name)
    if (known !== undefined) values.set(known, text)
    else if (!WITHOUT_EFFECT.includes(name) && !(name === 'gssencmode' && text !== 'require'))
      return { problem: `has the parameter "${name}", which no PostgreSQL URL has` }
  }
  return { values }
}
