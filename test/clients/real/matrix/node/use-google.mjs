import { GoogleGenAI } from '@google/genai'
import { BASE, BREAK, CLOCK, HI, KEY, refusals, SCHEMA, step, TOOL } from './steps.mjs'

const MODEL = 'gemini-2.5-flash'
const client = (apiKey = KEY) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: BASE } })

async function chat(key = KEY, model = MODEL, prompt = HI) {
  const { text, usageMetadata } = await client(key).models.generateContent({ model, contents: prompt })
  return [text, usageMetadata.promptTokenCount, usageMetadata.candidatesTokenCount]
}

async function stream(prompt) {
  let text = ''
  for await (const piece of await client().models.generateContentStream({ model: MODEL, contents: prompt }))
    text += piece.text ?? ''
  return text
}

async function tools() {
  const declared = { name: TOOL.name, description: TOOL.description, parametersJsonSchema: SCHEMA }
  const config = { tools: [{ functionDeclarations: [declared] }] }
  const { functionCalls } = await client().models.generateContent({ model: MODEL, contents: CLOCK, config })
  return [functionCalls[0].name, functionCalls[0].args]
}

async function models() {
  const names = []
  for await (const { name } of await client().models.list()) names.push(name)
  return names.includes(`models/${MODEL}`)
}

async function files() {
  const file = new Blob(['bytes of a file'], { type: 'text/plain' })
  const { name } = await client().files.upload({ file, config: { mimeType: 'text/plain' } })
  const { mimeType } = await client().files.get({ name })
  await client().files.delete({ name })
  return mimeType
}

await step('chat', () => chat())
await step('stream', () => stream(HI))
await step('tools', tools)
await step('embeddings', async () => {
  const order = { model: 'gemini-embedding-001', contents: 'a' }
  return (await client().models.embedContent(order)).embeddings[0].values
})
await step('count_tokens', async () => {
  return (await client().models.countTokens({ model: MODEL, contents: HI })).totalTokens
})
await step('models', models)
await refusals(chat)
await step('hang_up', () => stream(BREAK))
await step('files', files)
