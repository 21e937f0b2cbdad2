import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A backend that costs next to nothing: one chat completion of about 1 KB, or the same streamed in 20 events. */
const USAGE = { prompt_tokens: 25, completion_tokens: 150, total_tokens: 175 }
const answer = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-4o-mini',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'word '.repeat(150) }, finish_reason: 'stop' },
    ],
    usage: USAGE,
  }),
)
const chunk = (fields: object) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'gpt-4o-mini', ...fields })}\n\n`
const events = [
  ...Array.from({ length: 20 }, () =>
    chunk({ choices: [{ index: 0, delta: { content: 'word '.repeat(7) } }] }),
  ),
  chunk({ choices: [], usage: USAGE }),
  'data: [DONE]\n\n',
]

const server = createServer((request, response) => {
  let streamed = false
  request.on('data', (part: Buffer) => {
    streamed ||= part.includes('"stream":true')
  })
  request.on('end', () => {
    if (!streamed) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length })
      response.end(answer)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let next = 0
    const write = () => {
      const text = events[next]
      next += 1
      if (text === undefined) response.end()
      else response.write(text, () => setImmediate(write))
    }
    write()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit(0))
