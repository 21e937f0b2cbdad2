import { describe, expect, test } from 'vitest'
import { parseRedisUrl } from '../../../src/domain/redis/redis-url.ts'

const NO_LOGIN = { user: null, password: null }
const PLAIN = { ...NO_LOGIN, tls: false, family: 0 }

function addressOf(url: string) {
  const { address, problems } = parseRedisUrl(url)
  expect(problems).toEqual([])
  return address
}

test.each([
  [
    'redis://127.0.0.1',
    { ...PLAIN, kind: 'server', hosts: [{ host: '127.0.0.1', port: 6379 }], database: 0 },
  ],
  ['redis://h:1/', { ...PLAIN, kind: 'server', hosts: [{ host: 'h', port: 1 }], database: 0 }],
  [
    'rediss://me:p%40%3A%2Fw@[::1]:7000/3?family=6',
    {
      kind: 'server',
      user: 'me',
      password: 'p@:/w',
      tls: true,
      family: 6,
      hosts: [{ host: '::1', port: 7000 }],
      database: 3,
    },
  ],
  [
    'redis://:only@h',
    { ...PLAIN, password: 'only', kind: 'server', hosts: [{ host: 'h', port: 6379 }], database: 0 },
  ],
  ['/run/redis.sock', { ...PLAIN, kind: 'socket', path: '/run/redis.sock', database: 0 }],
  [
    'redis+unix://me:pw@/run/my%20redis.sock?db=2',
    {
      ...PLAIN,
      user: 'me',
      password: 'pw',
      kind: 'socket',
      path: '/run/my redis.sock',
      database: 2,
    },
  ],
  [
    'redis-sentinel://me:pw@h1:1,h2/4#main',
    {
      ...PLAIN,
      user: 'me',
      password: 'pw',
      kind: 'sentinels',
      hosts: [
        { host: 'h1', port: 1 },
        { host: 'h2', port: 26379 },
      ],
      database: 4,
      master: 'main',
      sentinel: NO_LOGIN,
    },
  ],
  [
    'rediss-sentinel://h1?sentinel_user=s&sentinel_password=p%26#main',
    {
      ...PLAIN,
      tls: true,
      kind: 'sentinels',
      hosts: [{ host: 'h1', port: 26379 }],
      database: 0,
      master: 'main',
      sentinel: { user: 's', password: 'p&' },
    },
  ],
  [
    'rediss-cluster://h1,h2:2,[fe80::1]:3',
    {
      ...PLAIN,
      tls: true,
      kind: 'cluster',
      hosts: [
        { host: 'h1', port: 6379 },
        { host: 'h2', port: 2 },
        { host: 'fe80::1', port: 3 },
      ],
    },
  ],
])('%s is understood', (url, address) => {
  expect(addressOf(url)).toEqual(address)
})

test('Valkey may be called by its name', () => {
  for (const [valkey, redis] of [
    ['valkey://h', 'redis://h'],
    ['valkeys://h', 'rediss://h'],
    ['valkey+unix:///s', 'redis+unix:///s'],
    ['valkey-cluster://h', 'redis-cluster://h'],
    ['valkeys-sentinel://h#m', 'rediss-sentinel://h#m'],
  ] as const)
    expect(addressOf(valkey)).toEqual(addressOf(redis))
})

describe('what cannot work has a sentence', () => {
  test.each([
    ['redis://h/0?sentinel=mymaster', 'write redis-sentinel://'],
    ['redis://h?name=mymaster', 'a parameter that is not known'],
    ['redis://a:1,b:2', 'several hosts'],
    ['redis-cluster://a:1/2', 'no database but the first'],
    ['redis-sentinel://a:1/0', 'the name that the Sentinels give the master'],
    ['redis-sentinel://a:1#', 'the name that the Sentinels give the master'],
    ['redis://h/one', 'the number of a database'],
    ['redis://', 'must name a host'],
    ['redis://h:99999', 'must name a host'],
    ['redis://h:1:2', 'must name a host'],
    ['redis://h#main', 'must have no #'],
    ['redis://:p%w@h', '%25'],
    ['redis+unix://run/redis.sock', 'the whole path'],
    ['redis://h?family=5', '4 or 6'],
    ['sentinel://h', 'must be a URL that begins with redis://'],
    ['h:6379', 'must be a URL that begins with redis://'],
    ['', 'must be a URL that begins with redis://'],
  ])('%s', (url, sentence) => {
    const { address, problems } = parseRedisUrl(url)
    expect(address).toBeNull()
    expect(problems).toEqual([expect.stringContaining(sentence)])
  })

  test('all of them together', () => {
    const { problems } = parseRedisUrl('redis-sentinel://a:1,b:x/one?sentinel=m')
    expect(problems).toHaveLength(4)
  })

  test('and none of them shows what may be a password', () => {
    for (const url of [
      'redis://:hunter2/x@h',
      'redis://:hunter?hunter2@h',
      'redis://:#hunter2@h',
      'x://hunter2',
    ])
      expect(parseRedisUrl(url).problems.join()).not.toContain('hunter2')
  })
})
