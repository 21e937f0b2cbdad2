import { setTimeout as delay } from 'node:timers/promises'
import { event, json, startUpstream, type TestUpstream } from '../../../support/upstream.ts'

/** The price of MODEL, in and out: pico-USD for a token. */
export const PICO_PER_TOKEN = 10_000_000n
export const MODEL = 'known-cost'
/** Of every answer. */
export const PROMPT_TOKENS = 10

/** The YAML file with the price, beside other `lines`. */
export function priceFile(upstreamUrl: string, lines: readonly string[] = []): string {
  return [
    `upstreams: [{ name: origin, url: '${upstreamUrl}', provider: openai }]`,
    `prices: [{ model: ${MODEL}, input: '10', output: '10' }]`,
    ...lines,
    '',
  ].join('\n')
}

/** What an answer of so many tokens costs, pico-USD. */
export function costOf(outputTokens: number): bigint {
  return BigInt(PROMPT_TOKENS + outputTokens) * PICO_PER_TOKEN
}

/**
 * An upstream that uses what the call's `user` says: `<output tokens>,<milliseconds>,<cached prompt tokens>`. So each
 * call's cost is known before it is made.
 */
export async function startOrigin(): Promise<TestUpstream> {
  return await startUpstream(async ({ method, body }, response) => {
    if (method === 'GET') {
      json(response, 200, { object: 'list', data: [] })
      return
    }
    const asked = JSON.parse(body.toString())
    const [output = 1, ms = 0, cached = 0] = `${asked.user ?? ''}`.split(',').map(Number)
    const usage = {
      prompt_tokens: PROMPT_TOKENS + cached,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens: output,
      total_tokens: PROMPT_TOKENS + cached + output,
    }
    await delay(ms / 2)
    if (asked.stream !== true) {
      await delay(ms / 2)
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
      json(response, 200, { id: 'chatcmpl-1', object: 'chat.completion', model: MODEL, choices, usage })
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event({ model: MODEL, choices: [{ index: 0, delta: { content: 'Hi' } }] }))
    await delay(ms / 2)
    response.write(event({ model: MODEL, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    if (asked.stream_options?.include_usage === true) {
      response.write(event({ model: MODEL, choices: [], usage }))
    }
    response.end('data: [DONE]\n\n')
  })
}
