import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import { event } from '../../support/upstream.ts'
import { dial } from '../raw-http.ts'

const { upstream, stack } = await startOwnStack()

test('a client that leaves ends the calls that wait for their turn on its connection, too', async () => {
  const client = await stack.addClient('pipelining')
  const answering: ServerResponse[] = []
  upstream.answer((_request, response) => {
    answering.push(response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // More than a connection holds whose other end does not read.
    for (let i = 0; i < 40; i++) {
      response.write(event({ choices: [{ index: 0, delta: { content: 'word '.repeat(1000) } }] }))
    }
  })
  const body = JSON.stringify({
    model: 'gpt-4o-mini',
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  })
  const request = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: gateway.test',
    `Authorization: Bearer ${client.key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
  const socket = dial(stack.url)
  socket.write(request + request + request)
  await expect.poll(() => answering.length).toBe(3)
  const ended = answering.map((response) => once(response, 'close'))
  socket.destroy()
  await Promise.all(ended)
  await stack.usageOf(client, 3)
  for (const call of await stack.calls(client)) {
    expect(call).toMatchObject({ outcome: 'client_aborted', usage_source: 'estimated', status: 200 })
  }
})
