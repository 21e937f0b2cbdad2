import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { embed, generateText, jsonSchema, streamText, tool } from 'ai'
import { BASE, BREAK, CLOCK, FAMILY, HI, KEY, refusals, SCHEMA, step, TOOL } from './steps.mjs'

globalThis.AI_SDK_LOG_WARNINGS = false
const openai = (apiKey) => createOpenAI({ baseURL: `${BASE}/v1`, apiKey })
const MAKE = {
  openai: (apiKey, model = 'gpt-4o-mini') => openai(apiKey).chat(model),
  responses: (apiKey, model = 'gpt-4o-mini') => openai(apiKey).responses(model),
  anthropic: (apiKey, model = 'claude-haiku-4-5') =>
    createAnthropic({ baseURL: `${BASE}/v1`, apiKey })(model),
  gemini: (apiKey, model = 'gemini-2.5-flash') =>
    createGoogleGenerativeAI({ baseURL: `${BASE}/v1beta`, apiKey })(model),
}[FAMILY]

async function chat(key = KEY, model = undefined, prompt = HI) {
  const { text, usage } = await generateText({ model: MAKE(key, model), prompt })
  return [text, usage.inputTokens, usage.outputTokens]
}

async function stream(prompt) {
  let failed
  const onError = ({ error }) => {
    failed = error
  }
  let text = ''
  for await (const piece of streamText({ model: MAKE(KEY), prompt, onError }).textStream) text += piece
  if (failed !== undefined) throw failed
  return text
}

async function tools() {
  const declared = tool({ description: TOOL.description, inputSchema: jsonSchema(SCHEMA) })
  const { toolCalls } = await generateText({
    model: MAKE(KEY),
    prompt: CLOCK,
    tools: { [TOOL.name]: declared },
  })
  return [toolCalls[0].toolName, toolCalls[0].input]
}

await step('chat', () => chat())
await step('stream', () => stream(HI))
if (FAMILY !== 'responses') await step('tools', tools)
if (FAMILY === 'openai') {
  await step('embeddings', async () => {
    return (await embed({ model: openai(KEY).embedding('text-embedding-3-small'), value: 'a' })).embedding
  })
}
await refusals(chat)
await step('hang_up', () => stream(BREAK))
