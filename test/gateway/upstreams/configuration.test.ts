import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runServer } from '../gateway-process.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-configuration-'))
})

afterAll(() => rm(folder, { recursive: true }))

test('every problem of a wrong configuration is reported at once, by name, and nothing listens', async () => {
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    'upstreams:\n  - name: a\n    url: not a url\n    provider: unknown\ndefault_upstream: b\n',
  )
  const { code, stdout, stderr } = await runServer({
    PORT: '99999',
    BASE_PATH: 'llm/',
    UPSTREAM_URL: 'ftp://example.test',
    ON_CLIENT_ABORT: 'sometimes',
    DATABASE_URL: 'mysql://secret-password@host/db',
    BODY_LIMIT_BYTES: '1e3',
    TLS_CERT_FILE: '/nowhere/cert.pem',
    TALLYGATE_CONFIG: file,
  })
  expect(code).toBe(1)
  expect(stdout).toBe('')
  for (const name of [
    'PORT',
    'BASE_PATH',
    'UPSTREAM_URL',
    'ON_CLIENT_ABORT',
    'DATABASE_URL',
    'REDIS_URL',
    'KEY_PEPPER',
    'BODY_LIMIT_BYTES',
    'TLS_CERT_FILE',
    'TLS_KEY_FILE',
    'tallygate.yaml:3',
    'tallygate.yaml:4',
  ]) {
    expect(stderr).toContain(name)
  }
  expect(stderr).not.toContain('secret-password')
  expect(stderr).not.toMatch(/^\s+at /m)
})

test('nothing configured: what is required is named', async () => {
  const { code, stderr } = await runServer({})
  expect(code).toBe(1)
  for (const name of ['UPSTREAM_URL', 'REDIS_URL', 'DATABASE_URL', 'KEY_PEPPER'])
    expect(stderr).toContain(name)
})

test('a port that is taken ends the process with 1 and says so', async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as AddressInfo
  const { code, stdout, stderr } = await runServer({
    HOST: '127.0.0.1',
    PORT: `${port}`,
    ADMIN_PORT: '0',
    UPSTREAM_URL: 'http://127.0.0.1:1',
    REDIS_URL: 'redis://127.0.0.1:1',
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    KEY_PEPPER: 'pepper-of-the-tests-0123456789',
    JOURNAL_DIR: join(folder, 'journal'),
  })
  taken.close()
  expect(code).toBe(1)
  expect(stdout + stderr).toMatch(/PORT \d+ is in use by another program/)
})
