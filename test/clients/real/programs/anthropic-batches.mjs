import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: `${process.env.BASE}/claude`,
  apiKey: process.env.KEY,
  maxRetries: 0,
})
const params = { model: 'claude-haiku-4-5', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
const batch = await client.messages.batches.create({ requests: [{ custom_id: 'a', params }] })
const tokens = []
for await (const { result } of await client.messages.batches.results(batch.id))
  tokens.push(result.message.usage.output_tokens)
console.log(JSON.stringify(tokens))
