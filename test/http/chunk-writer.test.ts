import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ChunkWriter } from '../../src/gateway/proxy/chunk-writer.ts'

const ending: (() => void)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

/** All bytes that a client gets for `request`, whose answers `answer` writes. */
async function exchange(request: string, answer: (response: ServerResponse, index: number) => void) {
  let index = 0
  const server = createServer((_request, response) => {
    response.sendDate = false
    answer(response, index++)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  ending.push(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  let got = ''
  client.on('data', (bytes: Buffer) => {
    got += bytes.toString('latin1')
  })
  client.write(request)
  await once(client, 'end')
  return got
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const LAST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

function begun(response: ServerResponse): ChunkWriter | null {
  response.writeHead(200, ['content-type', 'text/event-stream'])
  response.flushHeaders()
  return ChunkWriter.of(response)
}

test('pieces have the frames that Node writes, whatever their bytes and length, and an empty one none', async () => {
  const pieces = ['data: ä\u0000\n\n', '', 'x'.repeat(16), 'y'.repeat(40_000), 'ÿ'.repeat(300)]
  const bytes = pieces.map((piece) => Buffer.from(piece, 'latin1'))
  const ours = await exchange(LAST, (response) => {
    const writer = begun(response)
    for (const piece of bytes) writer?.write(piece)
    response.end('end')
  })
  const nodes = await exchange(LAST, (response) => {
    begun(response)
    for (const piece of bytes) response.write(piece)
    response.end('end')
  })
  expect(ours).toBe(nodes)
  expect(ours).toContain(`12c\r\n${'ÿ'.repeat(300)}\r\n`)
})

test('the head goes out with the first piece, the end with the last one, each in one write', async () => {
  const written: string[] = []
  const record = ({ socket }: ServerResponse) => {
    if (socket === null) throw new Error('the answer has its turn')
    const { write } = socket
    socket.write = ((...given: unknown[]) => {
      written.push(String(given[0]))
      return Reflect.apply(write, socket, given)
    }) as typeof write
  }
  const ours = await exchange(LAST, (response) => {
    record(response)
    response.writeHead(200, ['content-type', 'text/event-stream'])
    const writer = ChunkWriter.of(response)
    writer?.write(Buffer.from('first'))
    writer?.write(Buffer.from('second'))
    writer?.end(Buffer.from('last'))
  })
  expect(written).toEqual([
    expect.stringMatching(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n5\r\nfirst\r\n$/),
    '6\r\nsecond\r\n',
    '4\r\nlast\r\n0\r\n\r\n',
  ])
  expect(ours).toBe(written.join(''))
})

test.each(['', 'x'.repeat(40_000)])('an end of any length is as Node writes it: %#', async (text) => {
  const last = Buffer.from(text)
  const ours = await exchange(LAST, (response) => {
    response.writeHead(200, ['content-type', 'text/event-stream'])
    ChunkWriter.of(response)?.end(last)
  })
  const nodes = await exchange(LAST, (response) => {
    response.writeHead(200, ['content-type', 'text/event-stream'])
    response.flushHeaders()
    response.end(last)
  })
  expect(ours).toBe(nodes)
})

test('the connection carries the next answer behind one that a writer has ended', async () => {
  const got = await exchange(GET + LAST, (response, index) => {
    response.writeHead(200, ['content-type', 'text/event-stream'])
    const writer = ChunkWriter.of(response)
    if (writer === null) response.end(Buffer.from(`${index}`))
    else setImmediate(() => writer.end(Buffer.from(`${index}`)))
  })
  expect(got.match(/1\r\n\d\r\n0\r\n\r\n/g)).toEqual(['1\r\n0\r\n0\r\n\r\n', '1\r\n1\r\n0\r\n\r\n'])
})

test('bodies without chunks have no writer: a length, HTTP/1.0, and no body at all', async () => {
  const found: unknown[] = []
  const sized = (response: ServerResponse) => {
    response.writeHead(200, ['content-length', '2'])
    response.flushHeaders()
    found.push(ChunkWriter.of(response))
    response.end('ok')
  }
  expect(await exchange(LAST, sized)).toMatch(/\r\n\r\nok$/)
  const old = (response: ServerResponse) => {
    found.push(begun(response))
    response.end('ok')
  }
  expect(await exchange('GET / HTTP/1.0\r\n\r\n', old)).toMatch(/\r\n\r\nok$/)
  await exchange(LAST.replace('GET', 'HEAD'), old)
  await exchange(LAST, (response) => {
    found.push(ChunkWriter.of(response))
    response.end()
  })
  expect(found).toEqual([null, null, null, null])
})

test('an answer behind another on its connection is written by Node until its turn has come', async () => {
  const found: unknown[] = []
  let first: ServerResponse | null = null
  const got = await exchange(GET + LAST, (response, index) => {
    if (index === 0) {
      first = response
      return
    }
    found.push(begun(response))
    response.write('second')
    first?.end('first')
    response.end()
  })
  expect(found).toEqual([null])
  expect(got).toMatch(/first[\s\S]*6\r\nsecond\r\n0\r\n\r\n$/)
})

test('a client that does not read holds the writer back, and `drain` comes once it reads', async () => {
  const got = await exchange(LAST, (response) => {
    const writer = begun(response)
    let pieces = 0
    while (writer?.write(Buffer.alloc(8_192, 97)) === true) pieces += 1
    writer?.drains.once('drain', () => response.end(`after ${pieces}`))
  })
  expect(got).toMatch(/after \d+\r\n0\r\n\r\n$/)
})
