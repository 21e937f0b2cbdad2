import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, test } from 'vitest'
import { estimateInput } from '../../../src/gateway/estimation/estimate.ts'
import { dialectOf } from '../../providers/recordings/dialect-of.ts'

const tools = [
  {
    type: 'function',
    function: { name: 'population', description: 'How many people live in a city, by the last census.' },
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
])('the template of %s explains how tools are called: %o', async (model, request, tokens) => {
  const added = (await estimate(model, { ...request, tools })) - (await estimate(model, request))
  expect(added - countTokens(JSON.stringify(tools))).toBe(tokens)
})

test("DeepSeek's responses begin with a prompt of its own", async () => {
  const chat = await estimate('deepseek-v4-flash', CHAT)
  expect((await estimate('deepseek-v4-flash', RESPONSES)) - chat).toBe(76)
  expect((await estimate('gpt-5', RESPONSES)) - (await estimate('gpt-5', CHAT))).toBeLessThan(3)
})

test("Vertex counts a third of what Google's own API does for the definitions of tools", async () => {
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
  const body = Buffer.from(JSON.stringify({ contents, tools: [{ functionDeclarations: tools }] }))
  const at = async (tokenizerFamily: 'gemini' | 'vertex') =>
    (await estimateInput(
      'client',
      { isChat: true, tokenizerFamily },
      body,
      body.length,
      'gemini-2.5-flash',
    )) ?? 0
  expect(await at('vertex')).toBeLessThan((await at('gemini')) * 0.6)
  const generate = (provider: 'gemini' | 'vertex') =>
    dialectOf(provider, 'POST', '/v1/models/gemini-2.5-flash:generateContent')?.tokenizerFamily
  expect([generate('gemini'), generate('vertex')]).toEqual(['gemini', 'vertex'])
})
