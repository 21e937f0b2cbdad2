import OpenAI, { toFile } from 'openai'
import { asked, BASE, BREAK, CLOCK, HI, KEY, refusals, step, TOOL } from './steps.mjs'

const MODEL = 'gpt-4o-mini'
const client = (apiKey = KEY) => new OpenAI({ baseURL: `${BASE}/v1`, apiKey })

async function chat(key = KEY, model = MODEL, prompt = HI) {
  const { choices, usage } = await client(key).chat.completions.create({ model, messages: asked(prompt) })
  return [choices[0].message.content, usage.prompt_tokens, usage.completion_tokens]
}

async function stream(prompt) {
  const messages = asked(prompt)
  let text = ''
  for await (const { choices } of await client().chat.completions.create({
    model: MODEL,
    messages,
    stream: true,
  }))
    text += choices[0]?.delta.content ?? ''
  return text
}

async function tools() {
  const tool = { type: 'function', function: TOOL }
  const { choices } = await client().chat.completions.create({
    model: MODEL,
    messages: asked(CLOCK),
    tools: [tool],
  })
  const call = choices[0].message.tool_calls[0].function
  return [call.name, JSON.parse(call.arguments)]
}

async function embeddings() {
  const { data, usage } = await client().embeddings.create({ model: 'text-embedding-3-small', input: 'a' })
  return [data[0].embedding, usage.prompt_tokens]
}

async function models() {
  const ids = []
  for await (const { id } of client().models.list()) ids.push(id)
  return ids.includes(MODEL)
}

const upload = async (text) =>
  client().files.create({ file: await toFile(Buffer.from(text), 'a.jsonl'), purpose: 'batch' })

async function files() {
  const { id } = await upload('{"a":"b"}\n')
  const { filename, purpose } = await client().files.retrieve(id)
  return [filename, purpose, (await client().files.delete(id)).deleted]
}

async function batches() {
  const { id: input_file_id } = await upload('{"custom_id":"a"}\n')
  const order = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  const { id } = await client().batches.create(order)
  const { status, output_file_id } = await client().batches.retrieve(id)
  const line = JSON.parse(await (await client().files.content(output_file_id)).text())
  return [status, line.response.body.usage.completion_tokens]
}

await step('chat', () => chat())
await step('stream', () => stream(HI))
await step(
  'responses',
  async () => (await client().responses.create({ model: MODEL, input: HI })).output_text,
)
await step('tools', tools)
await step('embeddings', embeddings)
await step('models', models)
await refusals(chat)
await step('hang_up', () => stream(BREAK))
await step('files', files)
await step('batches', batches)
