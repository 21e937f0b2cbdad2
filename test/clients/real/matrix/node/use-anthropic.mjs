import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { asked, BASE, BREAK, CLOCK, HI, KEY, refusals, SCHEMA, step, TOOL } from './steps.mjs'

const MODEL = 'claude-haiku-4-5'
const client = (apiKey = KEY) => new Anthropic({ baseURL: BASE, apiKey })
const order = (prompt, model = MODEL) => ({ model, max_tokens: 50, messages: asked(prompt) })

async function chat(key = KEY, model = MODEL, prompt = HI) {
  const { content, usage } = await client(key).messages.create(order(prompt, model))
  return [content[0].text, usage.input_tokens, usage.output_tokens]
}

const stream = async (prompt) => await client().messages.stream(order(prompt)).finalText()

async function tools() {
  const tool = { name: TOOL.name, description: TOOL.description, input_schema: SCHEMA }
  const { content } = await client().messages.create({ ...order(CLOCK), tools: [tool] })
  return [content[0].name, content[0].input]
}

async function models() {
  const ids = []
  for await (const { id } of client().models.list()) ids.push(id)
  return ids.includes(MODEL)
}

async function files() {
  const file = await toFile(Buffer.from('bytes'), 'a.txt', { type: 'text/plain' })
  const { id } = await client().beta.files.upload({ file })
  const { filename } = await client().beta.files.retrieveMetadata(id)
  return [filename, (await client().beta.files.delete(id)).type]
}

async function batches() {
  const { id } = await client().messages.batches.create({ requests: [{ custom_id: 'a', params: order(HI) }] })
  const tokens = []
  for await (const { result } of await client().messages.batches.results(id))
    tokens.push(result.message.usage.output_tokens)
  return tokens
}

await step('chat', () => chat())
await step('stream', () => stream(HI))
await step('tools', tools)
await step('count_tokens', async () => {
  const { input_tokens } = await client().messages.countTokens({ model: MODEL, messages: asked(HI) })
  return input_tokens
})
await step('models', models)
await refusals(chat)
await step('hang_up', () => stream(BREAK))
await step('files', files)
await step('batches', batches)
