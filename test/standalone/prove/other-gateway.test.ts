// @seconds: a stand-in of its own, and a second of calls
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { claimLastingPort } from '../../../src/standalone/stand/lasting-port.ts'
import { json, run } from '../../cli/command-line.ts'

let server: Server | null = null

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** A gateway that counts calls as its answers say. */
async function startGateway(standInPort: number): Promise<string> {
  const spend: object[] = []
  server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.end(JSON.stringify({ data: spend }))
      return
    }
    let body = ''
    for await (const chunk of request) body += chunk
    const asked = JSON.parse(body)
    const answer = await fetch(`http://127.0.0.1:${standInPort}/v1/chat/completions`, {
      method: 'POST',
      body,
    })
    const text = await answer.text()
    const [, input = 0, output = 0] = (
      /"prompt_tokens":(\d+),"completion_tokens":(\d+)/.exec(text) ?? []
    ).map(Number)
    spend.push({
      end_user: asked.user,
      prompt_tokens: input,
      completion_tokens: output,
      spend: (input * 0.15 + output * 0.6) / 1e6,
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(text)
  })
  const listening = server
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

const options = (url: string, port: number) => [
  ...['prove', '--url', `${url}/v1`, '--key', 'any', '--spend-url', `${url}/spend/logs`],
  ...['--port', `${port}`, '--seconds', '1', '--rate', '20', '--seed', '3'],
]

test('the books of a gateway that counts everything agree, by its list of calls', async () => {
  const port = await claimLastingPort()
  const url = await startGateway(port)
  const proof = Object(await json({}, ...options(url, port)))
  expect(proof).toMatchObject({ lost: 0, doubled: 0, wrong: 0, seed: 3, complaints: [], killed: {} })
  expect(proof.whole).toBeGreaterThan(0)
  expect(Number(proof.counted_usd)).toBeCloseTo(Number(proof.expected_usd), 9)
})

// The time that books have to agree would be over first.
test('a command that is about another gateway says whose', async () => {
  const refused = await run({}, 'prove', '--spend-url', 'http://127.0.0.1:9/')
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--url is missing')])
  const bookless = await run({}, 'prove', '--url', 'http://127.0.0.1:9/', '--key', 'any')
  expect([bookless.code, bookless.err]).toEqual([2, expect.stringContaining('--spend-url')])
})
