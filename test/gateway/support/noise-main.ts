import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'
import type { NoiseOrder, NoiseReport, NoisyBody } from './noise.ts'

let goesOn = false

function report(word: NoiseReport): void {
  parentPort?.postMessage(word)
}

function bodyOf({ start, unit, end, bytes }: NoisyBody): Buffer {
  return Buffer.concat([
    Buffer.from(start),
    Buffer.alloc(bytes - start.length - end.length, unit),
    Buffer.from(end),
  ])
}

async function post(url: string, key: string, contentType: string, body: Buffer): Promise<number> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': contentType,
    'content-length': body.length,
  }
  const sent = request(url, { method: 'POST', headers })
  sent.end(body)
  const [response]: IncomingMessage[] = await once(sent, 'response')
  if (response === undefined) return 0
  await once(response.resume(), 'end')
  return response.statusCode ?? 0
}

parentPort?.on('message', async (order: NoiseOrder) => {
  goesOn = order !== null
  if (order === null) return
  const body = bodyOf(order.body)
  const statuses: number[] = []
  while (goesOn) statuses.push(await post(order.url, order.key, order.contentType, body))
  report({ statuses })
})

const ANSWER = JSON.stringify({
  model: 'gpt-4o-mini',
  choices: [],
  usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
})

const upstream = createServer((incoming, response) => {
  incoming.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length })
    response.end(ANSWER)
  })
})
await once(upstream.listen(0, '127.0.0.1'), 'listening')
report({ upstreamUrl: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}` })
