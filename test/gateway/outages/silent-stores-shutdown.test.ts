// @long: a shutdown waits for its last stream
import { once } from 'node:events'
import { Agent, createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../../../src/lib/log.ts'
import { migrate } from '../../../src/store/connection/migrate.ts'
import { busyness } from '../../support/patience.ts'
import { startPrivatePostgres, startPrivateRedis, type TestServer } from '../../support/servers/servers.ts'
import { startStack, type TestStack } from '../../support/servers/stack.ts'
import { CHAT_USAGE, event } from '../../support/upstream.ts'
import { startGatewayProcess } from '../gateway-process.ts'

/** Within 10 s on a machine that does nothing else. */
const ENDS_WITHIN_MS = 13_000
const agent = new Agent({ keepAlive: true })
const answering = Promise.withResolvers<ServerResponse>()
const upstream = createServer((incoming, response) => {
  incoming.resume()
  if (incoming.url === '/v1/models') response.end('{"data":[]}')
  else answering.resolve(response)
})
let postgres: TestServer
let redis: TestServer
let stack: TestStack

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  ;[postgres, redis] = await Promise.all([startPrivatePostgres(), startPrivateRedis()])
  await migrate(postgres.url, createLog('silent', 'test'))
  const stores = { databaseUrl: postgres.url, redisUrl: redis.url }
  stack = await startStack(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, stores)
})

afterAll(async () => {
  await stack?.stop()
  agent.destroy()
  upstream.closeAllConnections()
  upstream.close()
  await Promise.all([postgres?.stop(), redis?.stop()])
})

test('SIGTERM while neither store answers and a client keeps its connection: the gateway ends within 10 s of its last stream, which is counted', async () => {
  const client = await stack.addClient('last')
  // Kept for so short a time that it is always asking Postgres what may be pruned.
  const gateway = await startGatewayProcess({ ...stack.env, JOURNAL_KEEP_SECONDS: '1' })
  const asking = request(`${gateway.url}/v1/chat/completions`, {
    agent,
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
  })
  asking.end('{"model":"gpt-4o-mini","stream":true,"messages":[]}')
  const upstreams = await answering.promise
  upstreams.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  const [answer] = await once(asking, 'response')
  redis.freeze()
  postgres.freeze()
  gateway.child.kill('SIGTERM')
  upstreams.end(`${event({ choices: [], usage: CHAT_USAGE })}data: [DONE]\n\n`)
  await once(answer.resume(), 'end')
  const endedMs = performance.now()
  expect(await gateway.exited).toBe(0)
  expect(performance.now() - endedMs).toBeLessThan(ENDS_WITHIN_MS * busyness())
  redis.thaw()
  postgres.thaw()
  await expect.poll(() => stack.calls(client).catch(() => [])).toHaveLength(1)
})
