import { expect, test } from 'vitest'
import { withoutNullUsage } from '../../../src/gateway/proxy/usage-event-filter.ts'
import { startStack } from '../../support/servers/stack.ts'
import { startUpstream } from '../../support/upstream.ts'

const without = (text: string) => withoutNullUsage(Buffer.from(text)).toString()
const event = (rest: string) => `data: {"id":"c","choices":[{"delta":{"content":"hi"}}]${rest}}\n\n`

test.each([
  ['last', ',"usage":null', ''],
  ['before others', ',"usage":null,"obfuscation":"aB3","n":1', ',"obfuscation":"aB3","n":1'],
  ['with spaces', ', "usage": null', ''],
])('a chunk loses its null usage: %s', (_what, rest, left) => {
  expect(without(event(rest))).toBe(event(left))
  expect(without(event(rest).repeat(3))).toBe(event(left).repeat(3))
  expect(without(event(rest).replaceAll('\n', '\r\n'))).toBe(event(left).replaceAll('\n', '\r\n'))
})

test.each([
  event(''),
  event(',"usage":{"prompt_tokens":1}'),
  event(',"usage":null,"more":{"a":1}'),
  'data: {"choices":[{"index":0,"usage":null}]}\n\n',
  'data: {"choices":[{"index":0,"tools":[],"usage":null,"a":1}],"model":"m"}\n\n',
  `data: {"text":${JSON.stringify('x,"usage":null}')}}\n\n`,
  'data: [DONE]\n\n',
])('any other bytes stay: %j', (text) => {
  const bytes = Buffer.from(text)
  expect(withoutNullUsage(bytes)).toBe(bytes)
})

test('a stream is the one that the upstream sends unasked, however it comes in pieces, and usage is counted', async () => {
  const events = (isAsked: boolean) => {
    const rest = isAsked ? ',"usage":null' : ''
    const usage = '"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}'
    const last = isAsked ? `data: {"model":"gpt-4o-mini","choices":[],${usage}}\n\n` : ''
    return `${event(rest)}${event(`${rest},"obfuscation":"x"`)}${last}data: [DONE]\n\n`
  }
  const upstream = await startUpstream(({ body }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const stream = events(body.includes('include_usage'))
    const write = (from: number): void => {
      if (from >= stream.length) response.end()
      else response.write(stream.slice(from, from + 37), () => setImmediate(write, from + 37))
    }
    write(0)
  })
  const stack = await startStack(upstream.url)
  const client = await stack.addClient('streaming')
  const ask = async (url: string) => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: '{"model":"gpt-4o-mini","stream":true,"messages":[]}',
    })
    return answer.text()
  }
  const direct = await ask(upstream.url)
  expect(direct).not.toContain('usage')
  expect(await ask(stack.url)).toBe(direct)
  expect(await stack.usageOf(client, 1)).toMatchObject({ input_tokens: 3, output_tokens: 2 })
  await stack.stop()
  await upstream.close()
})
