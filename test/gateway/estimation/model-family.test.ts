import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, test } from 'vitest'
import { estimateInput } from '../../../src/gateway/estimation/estimate.ts'

const tools = [
  {
    type: 'function',
    function: { name: 'weather', description: 'The weather in a city, as it is forecast for today.' },
  },
]
const CHAT = { messages: [{ role: 'user', content: 'Hi' }] }
const RESPONSES = { input: [{ role: 'user', content: 'Hi' }] }

async function estimate(model: string, request: object): Promise<number> {
  const body = Buffer.from(JSON.stringify(request))
  return (await estimateInput('client', {}, body, body.length, model)) ?? Number.NaN
}

test.each([
  ['deepseek-v4-flash', CHAT, 250],
  ['deepseek-v4-flash', RESPONSES, 226],
  ['qwen/qwen3-coder-next', CHAT, 230],
  ['qwen/qwen3-32b', CHAT, 120],
])('%s is told by its template how tools are called: %o', async (model, request, tokens) => {
  const added = (await estimate(model, { ...request, tools })) - (await estimate(model, request))
  expect(added - countTokens(JSON.stringify(tools))).toBe(tokens)
})

test("DeepSeek's responses begin with a prompt of its own", async () => {
  const chat = await estimate('deepseek-v4-flash', CHAT)
  expect((await estimate('deepseek-v4-flash', RESPONSES)) - chat).toBe(76)
  expect((await estimate('gpt-5', RESPONSES)) - (await estimate('gpt-5', CHAT))).toBeLessThan(3)
})
