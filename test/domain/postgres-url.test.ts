import { describe, expect, test } from 'vitest'
import { isReadOnlyUrl, parsePostgresUrl } from '../../src/domain/postgres-url/postgres-url.ts'

function parsed(text: string) {
  const result = parsePostgresUrl(text)
  if ('problem' in result) throw new Error(result.problem)
  return result.value
}
const problem = (text: string) => {
  const result = parsePostgresUrl(text)
  return 'problem' in result ? result.problem : null
}
const hosts = (text: string) => parsed(text).hosts.map(({ host, port }) => [host, port])

describe('hosts', () => {
  test.each([
    ['postgres://db/name', [['db', null]]],
    ['postgresql://u:p@db:5433/name', [['db', 5433]]],
    [
      'postgres://a:1,b,c:3/name',
      [
        ['a', 1],
        ['b', null],
        ['c', 3],
      ],
    ],
    [
      'postgres://[::1]:5433,[2001:db8::2]/name',
      [
        ['::1', 5433],
        ['2001:db8::2', null],
      ],
    ],
    ['postgres:///name', [[null, null]]],
    ['postgres://', [[null, null]]],
    ['postgres://u@:5433/name', [[null, 5433]]],
    ['postgres:///name?host=/var/run/postgresql', [['/var/run/postgresql', null]]],
    ['postgres:///name?host=/var/run/postgresql&port=5433', [['/var/run/postgresql', 5433]]],
    ['postgres://%2Fvar%2Frun%2Fpostgresql/name', [['/var/run/postgresql', null]]],
    ['postgres://u:p@%2Ftmp%2Fa%3Ab:5433/name', [['/tmp/a:b', 5433]]],
    ['socket://u:p@/var/run/pg?db=name', [['/var/run/pg', null]]],
    [
      'postgres:///name?host=a,b&port=1,2',
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    [
      'postgres:///name?host=a,b&port=6432',
      [
        ['a', 6432],
        ['b', 6432],
      ],
    ],
    ['postgres://ignored/name?host=told', [['told', null]]],
  ])('%s', (text, expected) => {
    expect(hosts(text)).toEqual(expected)
  })
})

test('user, password and database are decoded, and @ : / may stand in them encoded', () => {
  expect(parsed('postgres://us%40er:p%40%3A%2F%25%20%C3%BC@h/da%2Fta')).toMatchObject({
    user: 'us@er',
    password: 'p@:/% ü',
    database: 'da/ta',
  })
  expect(parsed('postgres://h/a?user=u&password=p%26q&dbname=b')).toMatchObject({
    user: 'u',
    password: 'p&q',
    database: 'b',
  })
  expect(parsed('socket://u:p@/run/pg?db=name&encoding=utf8')).toMatchObject({
    user: 'u',
    password: 'p',
    database: 'name',
  })
  expect(parsed('postgres://h')).toMatchObject({ user: null, password: null, database: null })
})

test('parameters of TLS, time and choice are read', () => {
  const url =
    'postgres://a,b/d?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem&sslcert=c&sslkey=k&sslpassword=s' +
    '&target_session_attrs=read-write&connect_timeout=7&load_balance_hosts=random&channel_binding=require' +
    '&application_name=mine&options=-c%20search_path%3Dx&ssl_min_protocol_version=TLSv1.3&keepalives=1'
  expect(parsed(url)).toMatchObject({
    tlsMode: 'verify-full',
    rootCert: '/etc/ca.pem',
    clientCert: 'c',
    clientKey: 'k',
    clientKeyPassword: 's',
    tlsOldest: 'TLSv1.3',
    sessionAttrs: 'read-write',
    connectTimeoutSeconds: 7,
    shuffled: true,
    channelBinding: true,
    applicationName: 'mine',
    options: '-c search_path=x',
  })
  expect(parsed('postgres://h/d')).toMatchObject({ tlsMode: null, sessionAttrs: 'any', shuffled: false })
  expect(parsed('postgres://h/d?ssl=true').tlsMode).toBe('verify-full')
  expect(parsed('postgres://h/d?sslrootcert=system').tlsMode).toBe('verify-full')
})

test.each([
  ['mysql://h/d', 'must begin with postgres://'],
  ['postgres://u:secret%zz@h/d', 'has a % that is not followed by two hex digits'],
  ['postgres://h:port/d', 'has a host that is none'],
  ['postgres://::1/d', 'has a host that is none'],
  ['postgres://h:70000/d', 'has a port that is not a number from 1 to 65535'],
  ['postgres:///d?host=a,b,c&port=1,2', 'must have one port for all hosts, or one for each'],
  ['postgres://h/d?target_session_attrs=master', 'must have a target_session_attrs of any, read-write'],
  ['postgres://h/d?sslmode=on', 'must have a sslmode of disable, allow'],
  ['postgres://h/d?sslmode=require&sslrootcert=system', 'must have sslmode=verify-full, or none'],
  ['postgres://h/d?sslrootcert=%2Fca.pem', 'must have a sslmode with sslrootcert'],
  ['postgres://h/d?sslcert=c&sslkey=k', 'must have a sslmode with sslrootcert'],
  ['postgres://h/d?pgbouncer=true', 'has the parameter "pgbouncer", which no PostgreSQL URL has'],
  ['postgres://h/d?service=x', 'cannot have the parameter service: write out what the service file says'],
  ['postgres://h/d?gssencmode=require', 'has the parameter "gssencmode"'],
  ['postgres://h/d?sslcert=x', 'must have both sslcert and sslkey'],
  ['postgres://h/d?sslnegotiation=direct', 'with sslnegotiation=direct'],
  ['postgres://h/d?client_encoding=latin1', 'must have no client_encoding but UTF8'],
  ['postgres://h/d?connect_timeout=soon', 'must have a connect_timeout in whole seconds'],
])('%s is refused in a sentence that shows no value', (text, expected) => {
  expect(problem(text)).toContain(expected)
  expect(problem(text)).not.toContain('secret')
})

test('what can only be read is known', () => {
  const attrs = ['any', 'read-write', 'primary', 'read-only', 'standby', 'prefer-standby']
  expect(attrs.map((it) => isReadOnlyUrl(parsed(`postgres://a,b/d?target_session_attrs=${it}`)))).toEqual([
    false,
    false,
    false,
    true,
    true,
    true,
  ])
})
