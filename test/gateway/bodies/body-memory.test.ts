import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { BodyRoom } from '../../../src/gateway/bodies/body-budget.ts'
import { BodyBudget } from '../../../src/gateway/bodies/body-budget.ts'
import { readBody } from '../../../src/gateway/bodies/whole-body.ts'
import { DirectRequest } from '../../../src/http/direct-request.ts'
import { until } from '../../../src/lib/repeat.ts'
import { patienceMs } from '../../support/patience.ts'

const BYTES = 20 * 1024 * 1024

test('a body is in memory once, and not any more when its call has dropped it, while its room is held', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const budget = new BodyBudget(4 * BYTES, 4 * BYTES)
  const held: BodyRoom[] = []
  const bodies: Buffer[] = []
  const server = createServer({ IncomingMessage: DirectRequest }, (request: IncomingMessage) =>
    readBody(request, BYTES, budget, 'acme', (body, room) => {
      if (typeof body === 'string' || room === null) throw new Error('not read')
      held.push(room)
      bodies.push(body)
    }),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    const sent = Buffer.alloc(BYTES)
    collect()
    const before = process.memoryUsage().arrayBuffers
    const isBelow = (bytes: number) => async () => {
      collect()
      return process.memoryUsage().arrayBuffers - before < bytes ? true : null
    }
    client.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${BYTES}\r\n\r\n`)
    client.write(sent)
    await until(async () => (bodies.length > 0 ? true : null), { timeoutMs: patienceMs() })
    expect(await until(isBelow(1.5 * BYTES), { timeoutMs: patienceMs() })).toBe(true)
    bodies.length = 0
    expect(await until(isBelow(BYTES / 2), { timeoutMs: patienceMs() })).toBe(true)
    expect(held[0]?.heldBytes).toBe(BYTES)
  } finally {
    client.destroy()
    server.close()
  }
})
