// One call by each library, for a user, in a session and a run: each said where the library has a place for it.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

const { BASE, KEY: apiKey } = process.env
const defaultHeaders = { 'x-session-id': 'session-1', baggage: 'run=run-1' }
const messages = [{ role: 'user', content: 'hi' }]

const openai = new OpenAI({ baseURL: `${BASE}/openai/v1`, apiKey, defaultHeaders })
await openai.chat.completions.create({ model: 'gpt-4o-mini', messages, user: 'ann' })
const anthropic = new Anthropic({ baseURL: `${BASE}/anthropic`, apiKey, defaultHeaders })
await anthropic.messages.create({
  ...{ model: 'claude-haiku-4-5', max_tokens: 10, messages, metadata: { user_id: 'ann' } },
})
