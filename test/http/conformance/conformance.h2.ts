import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createSecureServer, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { startStack, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { EXPECTED, EXPECTED_PLAIN } from './expected.ts'

const CERTIFICATE = fileURLToPath(new URL('../../fixtures/tls/cert.pem', import.meta.url))
const KEY = fileURLToPath(new URL('../../fixtures/tls/key.pem', import.meta.url))
/** More than one, so that an h2spec without cases shows. */
const CASES = 145

let upstream: TestUpstream
let folder: string

beforeAll(async () => {
  upstream = await startUpstream()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-h2-'))
})

afterAll(async () => {
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

interface Found {
  readonly cases: number
  /** Names of those that failed. */
  readonly failed: readonly string[]
}

/** Runs all cases. One that fails and is not expected to is late, perhaps: its section is run once more, by itself. */
async function check(port: number, tls: boolean): Promise<Found> {
  const { cases, failed } = await runCases(port, tls)
  const unexpected = failed.filter((name) => !(name in EXPECTED))
  const again = new Set<string>()
  for (const section of new Set(unexpected.map((name) => name.split(' ')[0] ?? '')))
    for (const name of (await runCases(port, tls, section)).failed) again.add(name)
  return { cases, failed: failed.filter((name) => name in EXPECTED || again.has(name)) }
}

async function runCases(port: number, tls: boolean, ...sections: readonly string[]): Promise<Found> {
  const report = join(folder, `${port}.xml`)
  const args = ['-h', '127.0.0.1', '-p', `${port}`, '-P', '/healthz', '-o', '5', '-j', report, ...sections]
  await new Promise((resolve) => execFile(inject('h2spec'), tls ? [...args, '-t', '-k'] : args, resolve))
  const cases = [
    ...(await readFile(report, 'utf8')).matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g),
  ]
  const failed = cases
    .filter(([, , inside = '']) => /<(?:failure|error)/.test(inside))
    .map(([, attributes = '']) => {
      const [, place] = /package="([^"]*)"/.exec(attributes) ?? []
      const [, what] = /classname="([^"]*)"/.exec(attributes) ?? []
      return `${place} ${what}`
    })
  return { cases: cases.length, failed: failed.sort() }
}

describe.each([
  ['h2c', false],
  ['h2', true],
] as const)('%s', (_name, tls) => {
  test('the gateway fails no case that is not named', async () => {
    const stack: TestStack = await startStack(upstream.url, {
      env: tls ? { TLS_CERT_FILE: CERTIFICATE, TLS_KEY_FILE: KEY } : {},
    })
    try {
      const { cases, failed } = await check(stack.gateway.address.port, tls)
      expect(cases).toBeGreaterThanOrEqual(CASES)
      const expected = { ...EXPECTED, ...(tls ? {} : EXPECTED_PLAIN) }
      expect(failed).toEqual(Object.keys(expected).sort())
    } finally {
      await stack.stop()
    }
  })

  test('a bare server of Node fails the same', async () => {
    const answer = (_request: unknown, response: { end(text: string): void }) => response.end('ok')
    const server = tls
      ? createSecureServer({ cert: await readFile(CERTIFICATE), key: await readFile(KEY) }, answer)
      : createServer(answer)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const { failed } = await check((server.address() as AddressInfo).port, tls)
      expect(failed).toEqual(Object.keys(EXPECTED).sort())
    } finally {
      server.close()
    }
  })
})
