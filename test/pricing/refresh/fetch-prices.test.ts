import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fetchPrices } from '../../../src/pricing/refresh/fetch-prices.ts'
import { type PriceServer, startPriceServer } from './price-server.ts'

const LIMITS = { totalMs: 300, maxBytes: 1_000_000 }
let server: PriceServer

beforeAll(async () => {
  server = await startPriceServer()
})
afterAll(() => server.stop())

const fetched = (etag: string | null = null) => fetchPrices(server.url, etag, { ...LIMITS, totalMs: 10_000 })

test('the text comes with what its server calls it, as it is or compressed', async () => {
  server.answer((_, response) => response.writeHead(200, { etag: '"v1"' }).end('[größer]'))
  expect(await fetched()).toEqual({ kind: 'fetched', text: '[größer]', etag: '"v1"' })
  server.answer((_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('[größer]')),
  )
  expect(await fetched()).toEqual({ kind: 'fetched', text: '[größer]', etag: null })
})

test('what is there already is not sent again', async () => {
  server.answer(({ headers }, response) =>
    response.writeHead(headers['if-none-match'] === '"v1"' ? 304 : 200).end('[]'),
  )
  expect(await fetched('"v1"')).toEqual({ kind: 'unmodified' })
  expect(await fetched('"v0"')).toMatchObject({ kind: 'fetched' })
  server.answer((_, response) => response.writeHead(304).end())
  expect(await fetched()).toEqual({ kind: 'refused', problem: 'it was answered with 304' })
})

test('a redirect is not followed', async () => {
  const before = server.requests.length
  for (const status of [301, 302, 307, 308]) {
    server.answer((_, response) => response.writeHead(status, { location: `${server.url}/elsewhere` }).end())
    expect(await fetched()).toEqual({
      kind: 'refused',
      problem: `it was answered with ${status} to ${server.url}/elsewhere, which is not followed`,
    })
  }
  expect(server.requests.slice(before).map(({ url }) => url)).toEqual(Array(4).fill('/prices/data.json'))
})

test('an answer that is none is refused, one that passes is tried again', async () => {
  for (const [status, kind] of [
    [404, 'refused'],
    [403, 'refused'],
    [204, 'refused'],
    [429, 'unreachable'],
    [500, 'unreachable'],
    [503, 'unreachable'],
  ] as const) {
    server.answer((_, response) => response.writeHead(status).end('x'))
    expect(await fetched()).toEqual({ kind, problem: `it was answered with ${status}` })
  }
})

test('what is too long is not read to its end, also where it is small on the wire', async () => {
  const problem = 'it is longer than 1000000 bytes'
  let written = 0
  server.answer((_, response) => {
    const more = () => {
      while (!response.destroyed && written < 1e9) {
        written += 65_536
        if (!response.write(Buffer.alloc(65_536, ' '))) return void response.once('drain', more)
      }
    }
    more()
  })
  expect(await fetchPrices(server.url, null, { ...LIMITS, totalMs: 20_000 })).toEqual({
    kind: 'refused',
    problem,
  })
  expect(written).toBeLessThan(100e6)
  const bomb = gzipSync(Buffer.alloc(200e6, ' '))
  expect(bomb.length).toBeLessThan(LIMITS.maxBytes)
  server.answer((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
  const rssBefore = process.memoryUsage().rss
  expect(await fetchPrices(server.url, null, { ...LIMITS, totalMs: 20_000 })).toEqual({
    kind: 'refused',
    problem,
  })
  expect(process.memoryUsage().rss - rssBefore).toBeLessThan(100e6)
})

test('a coding that was not asked for is refused', async () => {
  server.answer((_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end('x'))
  expect(await fetched()).toMatchObject({ kind: 'refused' })
})

test('what is cut is not taken', async () => {
  server.answer((_, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('[1,')
    setImmediate(() => response.destroy())
  })
  expect(await fetched()).toMatchObject({ kind: 'unreachable' })
  server.answer((_, response) => {
    response.writeHead(200).write('[1,')
    setImmediate(() => response.destroy())
  })
  expect(await fetched()).toMatchObject({ kind: 'unreachable' })
  const whole = gzipSync('[1,2,3]')
  server.answer((_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(whole.subarray(0, -5)),
  )
  expect(await fetched()).toMatchObject({
    kind: 'unreachable',
    problem: expect.stringContaining('unexpected end'),
  })
})

test('what drips, or never comes, is not waited for', async () => {
  server.answer((_, response) => {
    const timer = setInterval(() => response.write('1'), 20)
    response.on('close', () => clearInterval(timer))
  })
  const problem = 'it did not come whole within 0.3 s'
  expect(await fetchPrices(server.url, null, LIMITS)).toEqual({ kind: 'unreachable', problem })
  server.answer(() => {})
  expect(await fetchPrices(server.url, null, LIMITS)).toEqual({ kind: 'unreachable', problem })
})

test('an address where no server listens is reported as such', async () => {
  const gone = await startPriceServer()
  await gone.stop()
  expect(await fetchPrices(gone.url, null, LIMITS)).toMatchObject({
    kind: 'unreachable',
    problem: expect.stringContaining('ECONNREFUSED'),
  })
})
