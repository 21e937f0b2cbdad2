import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, type MockInstance, test, vi } from 'vitest'
import { type BodySink, DirectRequest } from '../../src/http/direct-request.ts'
import { until } from '../../src/lib/repeat.ts'
import { patienceMs } from '../support/patience.ts'

const PIECES_MS = 20

/** What a request's body came as, in the order in which it came. */
class Pieces implements BodySink {
  readonly events: string[] = []
  readonly #onEvent: (event: string) => void

  constructor(onEvent: (event: string) => void = () => {}) {
    this.#onEvent = onEvent
  }

  take(chunk: Buffer): void {
    this.#came(chunk.toString())
  }

  end(): void {
    this.#came('end')
  }

  close(): void {
    this.#came('close')
  }

  #came(event: string): void {
    this.events.push(event)
    this.#onEvent(event)
  }
}

const open: Server[] = []

afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(
  handler: (request: DirectRequest, response: ServerResponse) => void,
): Promise<{ client: Socket; answers: () => string }> {
  const server = createServer({ IncomingMessage: DirectRequest }, handler)
  open.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  client.setEncoding('latin1').on('data', (data: string) => {
    text += data
  })
  client.on('error', () => {})
  return { client, answers: () => text }
}

function post(body: string, announced = body.length): string {
  return `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${announced}\r\n\r\n${body}`
}

const pause = () => new Promise((resolve) => setTimeout(resolve, PIECES_MS))

test('a body comes in its pieces, then its end, without an event of a stream', async () => {
  const spies: MockInstance[] = []
  const pieces = new Pieces()
  const { client, answers } = await serve((request, response) => {
    spies.push(vi.spyOn(request, 'emit'))
    expect(request.readInto(pieces)).toBe(true)
    void until(async () => (pieces.events.includes('end') ? true : null), { timeoutMs: patienceMs() }).then(
      () => response.end('done'),
    )
  })
  client.write(post('one', 6))
  await pause()
  client.write('two')
  await until(async () => (answers().endsWith('done') ? true : null), { timeoutMs: patienceMs() })
  await pause()
  expect(pieces.events).toEqual(['one', 'two', 'end'])
  expect(spies[0]).not.toHaveBeenCalled()
})

test('one connection carries many calls, sent one after the other or at once', async () => {
  const bodies: string[] = []
  const { client, answers } = await serve((request, response) => {
    const pieces = new Pieces((event) => {
      if (event !== 'end') return
      bodies.push(pieces.events.slice(0, -1).join(''))
      response.end('done')
    })
    expect(request.readInto(pieces)).toBe(true)
  })
  const count = () => answers().split('done').length - 1
  client.write(post('first'))
  await until(async () => (count() === 1 ? true : null), { timeoutMs: patienceMs() })
  client.write(post('second') + post('') + post('third'))
  await until(async () => (count() === 4 ? true : null), { timeoutMs: patienceMs() })
  client.write(
    'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
  )
  await until(async () => (count() === 5 ? true : null), { timeoutMs: patienceMs() })
  expect(bodies).toEqual(['first', 'second', '', 'third', 'abcde'])
})

test('a client that leaves in the middle closes the body, once, and its request is aborted', async () => {
  const pieces = new Pieces()
  let request: DirectRequest | null = null
  const { client } = await serve((given) => {
    request = given
    given.readInto(pieces)
  })
  client.write(post('half', 8))
  await until(async () => (pieces.events.length > 0 ? true : null), { timeoutMs: patienceMs() })
  client.destroy()
  await until(async () => (pieces.events.includes('close') ? true : null), { timeoutMs: patienceMs() })
  await pause()
  expect(pieces.events).toEqual(['half', 'close'])
  expect(request).toMatchObject({ aborted: true, destroyed: true, complete: false })
})

test('what is not wanted any more is dropped, and the connection carries the next call', async () => {
  const calls: Pieces[] = []
  const { client, answers } = await serve((request, response) => {
    const pieces = new Pieces((event) => {
      if (event === 'end') response.end('whole')
      if (!event.startsWith('too much')) return
      request.dropRest()
      response.end('refused')
    })
    calls.push(pieces)
    request.readInto(pieces)
  })
  client.write(post('too much', 8 + 100_000))
  await until(async () => (answers().endsWith('refused') ? true : null), { timeoutMs: patienceMs() })
  client.write('x'.repeat(100_000) + post('small'))
  await until(async () => (answers().endsWith('whole') ? true : null), { timeoutMs: patienceMs() })
  expect(calls.map(({ events }) => events)).toEqual([['too much'], ['small', 'end']])
})

test('a Node that does not end such a request by itself reads it as a stream', async () => {
  const came: string[] = []
  const { client } = await serve((request) => {
    Object.assign(request, { _dumpAndCloseReadable: undefined })
    expect(request.readInto(new Pieces())).toBe(false)
    request.on('data', (data: Buffer) => came.push(data.toString()))
    request.on('end', () => came.push('end'))
  })
  client.write(post('whole'))
  await until(async () => (came.includes('end') ? true : null), { timeoutMs: patienceMs() })
  expect(came).toEqual(['whole', 'end'])
})

test.each([
  ['some of the body', post('half', 8), 'half'],
  ['all of it', post('whole'), 'whole'],
])('where %s came before, it is read as a stream', async (_, sent, first) => {
  const came: string[] = []
  const { client } = await serve(async (request) => {
    await pause()
    expect(request.readInto(new Pieces())).toBe(false)
    request.on('data', (data: Buffer) => came.push(data.toString()))
    request.on('end', () => came.push('end'))
  })
  client.write(sent)
  const rest = first === 'half' ? ['half', 'full', 'end'] : ['whole', 'end']
  await until(async () => (came.length > 0 ? true : null), { timeoutMs: patienceMs() })
  if (first === 'half') client.write('full')
  await until(async () => (came.includes('end') ? true : null), { timeoutMs: patienceMs() })
  expect(came).toEqual(rest)
})
