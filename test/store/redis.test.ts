import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listenForKeyChanges } from '../../src/keys/key-version.ts'
import type { Logger } from '../../src/lib/logger.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { quiet } from '../rollup/records.ts'
import { patienceMs } from '../support/patience.ts'
import { startPrivateRedis, type TestServer } from '../support/servers/servers.ts'

let server: TestServer
const opened: Redis[] = []

beforeAll(async () => {
  server = await startPrivateRedis()
})
afterAll(async () => {
  for (const redis of opened) redis.disconnect()
  await server.stop()
})

function open(whenAway: 'fail' | 'wait', log: Logger = quiet): Redis {
  const redis = openRedis(server.url, { name: 'test', whenAway, silenceMs: 500, log })
  opened.push(redis)
  return redis
}

test('a command fails soon when the server accepts and never answers, and works when it does again', async () => {
  const redis = open('fail')
  await untilReady(redis, patienceMs())
  server.freeze()
  await expect(redis.ping()).rejects.toThrow()
  server.thaw()
  await untilReady(redis, patienceMs())
  expect(await redis.ping()).toBe('PONG')
})

test('with the server away commands fail at once or wait, as asked, and one line is logged for many attempts', async () => {
  const events: unknown[] = []
  const counting = { ...quiet, warn: (fields: object) => void events.push('event' in fields && fields.event) }
  const [failing, waiting] = [open('fail', counting), open('wait')]
  await Promise.all([untilReady(failing, patienceMs()), untilReady(waiting, patienceMs())])
  await server.kill()
  await expect.poll(() => failing.status).toBe('reconnecting')
  await expect(failing.ping()).rejects.toThrow()
  const answer = waiting.ping()
  await expect(untilReady(failing, 300)).rejects.toThrow('not reachable')
  expect(events).toEqual(['redis.unreachable'])
  await server.start()
  expect(await answer).toBe('PONG')
  await untilReady(failing, patienceMs())
  expect(await failing.ping()).toBe('PONG')
})

test('a subscription whose connection breaks before its answer is made again and ends nothing', async () => {
  let asked = 0
  const wire = createServer((client) => {
    const behind = connect(server.port, '127.0.0.1')
    const end = () => [client, behind].forEach((socket) => void socket.destroy())
    for (const socket of [client, behind]) socket.on('error', end).on('close', end)
    behind.pipe(client)
    client.on('data', (data) => {
      const asks = data.includes('subscribe')
      if (asks) asked += 1
      // The first is answered, and cut once it stands; the next two never are.
      if (asks && asked > 1 && asked < 4) end()
      else behind.write(data)
    })
    if (asked === 0) breakFirst = end
  }).listen(0, '127.0.0.1')
  let breakFirst = () => {}
  await once(wire, 'listening')
  const unhandled: unknown[] = []
  const onUnhandled = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', onUnhandled)
  let logged = 0
  const url = new URL(server.url)
  url.port = `${(wire.address() as AddressInfo).port}`
  const listening = listenForKeyChanges(url.href, 'test:', quiet, () => {
    logged += 1
  })
  try {
    await expect.poll(() => logged).toBe(1)
    breakFirst()
    await expect.poll(() => logged).toBe(2)
    expect(asked).toBeGreaterThanOrEqual(4)
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', onUnhandled)
    listening.close()
    wire.close()
  }
})
