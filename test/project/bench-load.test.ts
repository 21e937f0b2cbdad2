import { type AddressInfo, createServer } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { GeneratorProcess } from '../../bench/overhead/load/generator-process.ts'
import { jsonShape, streamShape } from '../../bench/overhead/load/shapes.ts'
import type { Target } from '../../bench/overhead/targets/target.ts'
import { type OwnProcess, startOwnProcess } from '../../src/standalone/stand/own-process.ts'

let generator: GeneratorProcess
let origin: OwnProcess

const targetAt = (name: string, { port, pid }: Pick<OwnProcess, 'port' | 'pid'>): Target => ({
  name,
  host: '127.0.0.1',
  port,
  key: 'none',
  pid,
  takesAllWires: true,
  keepsBytes: true,
})

beforeAll(async () => {
  generator = await GeneratorProcess.start()
  origin = await startOwnProcess('bench/overhead/load/origin.ts')
})

test('a closed load makes exactly its calls, straight and through the bare proxy', async () => {
  const env = { UPSTREAM_URL: `http://127.0.0.1:${origin.port}` }
  const bare = await startOwnProcess('bench/overhead/targets/bare-proxy.ts', env)
  for (const target of [targetAt('origin', origin), targetAt('bare', bare)]) {
    for (const kilobytes of [1, 64]) {
      const course = { kind: 'closed', connections: 7, calls: 50 } as const
      const result = await generator.run(target, jsonShape(kilobytes), course)
      expect(result).toMatchObject({ calls: 50, whole: { count: 50 }, firstByte: { count: 50 } })
    }
    const stream = streamShape('chat-asked', 30, { everyMs: 4, together: 8 })
    expect(await generator.run(target, stream, { kind: 'closed', connections: 3, calls: 5 })).toMatchObject({
      calls: 5,
    })
  }
})

test('of a peer that writes answers in its own words only the status and the end are checked', async () => {
  const peer = { ...targetAt('origin', origin), keepsBytes: false, takesAllWires: false }
  const course = { kind: 'closed', connections: 2, calls: 4 } as const
  expect(await generator.run(peer, jsonShape(1), course)).toMatchObject({ calls: 4 })
})

test('each event of a paced stream is a read of its own, and comes in time', async () => {
  const shape = streamShape('gemini', 20, { everyMs: 10, together: 1 })
  const course = { kind: 'closed', connections: 4, calls: 4 } as const
  const { gaps, whole } = await generator.run(targetAt('origin', origin), shape, course)
  expect(gaps.count).toBeGreaterThan(4 * 5)
  expect(whole.p50).toBeGreaterThan(150)
})

test('streams held open all have their first byte while all are open', async () => {
  const shape = streamShape('messages', 10, { everyMs: 100, together: 1 })
  const course = { kind: 'held', calls: 50, beginMs: 50 } as const
  expect(await generator.run(targetAt('origin', origin), shape, course)).toMatchObject({
    calls: 50,
    queued: 0,
  })
})

test('an open load counts what a stalled server keeps calls waiting for', async () => {
  const stalled = createServer((socket) => {
    socket.on('error', () => {})
    // Nothing is answered at first: a generator that waited for answers would see one slow call.
    const answer = () => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    socket.on('data', () => setTimeout(answer, Math.max(openAtMs - performance.now(), 0)))
  })
  const shape = jsonShape(1)
  const body = shape.expected.toString()
  const port = await new Promise<number>((resolve) =>
    stalled.listen(0, '127.0.0.1', () => resolve((stalled.address() as AddressInfo).port)),
  )
  const openAtMs = performance.now() + 1000
  const course = { kind: 'open', perSecond: 200, calls: 120 } as const
  const result = await generator.run(targetAt('stalled', { port, pid: 0 }), shape, course)
  stalled.close()
  expect(result).toMatchObject({ calls: 120, whole: { count: 120 } })
  // Calls from 200 ms (the generator's lead) on had to wait, by falling amounts.
  expect(result.whole.max).toBeGreaterThan(200)
})

test.each([
  ['another byte', (answer: string) => answer.replace('word', 'wort'), 'differs'],
  ['a byte too few', (answer: string) => answer.slice(0, -1), 'closed'],
  ['another status', (answer: string) => answer.replace('200 OK', '500 No'), '500 No'],
])('an answer with %s fails the run', async (_, spoil, problem) => {
  const shape = jsonShape(1)
  const whole = `HTTP/1.1 200 OK\r\ncontent-length: ${shape.expected.length}\r\n\r\n${shape.expected}`
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.end(spoil(whole)))
  })
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )
  const run = generator.run(targetAt('wrong', { port, pid: 0 }), shape, {
    kind: 'closed',
    connections: 1,
    calls: 1,
  })
  await expect(run).rejects.toThrow(problem)
  server.close()
})
