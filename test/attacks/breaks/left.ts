import { setTimeout as delay } from 'node:timers/promises'
import { type Attack, type Body, within } from '../world.ts'
import { chat, LAST, messages, responses, type Use } from './answers.ts'

// A3, A4, and B over them: who leaves early pays for what was ordered.

const SEARCH: Use = { model: 'gpt-4.1', input: 30_000, output: 60, usd: 0.06 + 0.000_48 + 0.01, searches: 1 }
const READ: Use = { model: 'gpt-4.1', input: 30_000, output: 60, usd: 0.060_48 }
const PICTURE = { type: 'image_url', image_url: { url: 'https://a.test/a.png' } }
const FILE_ID = { type: 'file', file: { file_id: 'file-Operators12345' } }
const user = (...content: readonly object[]) => ({
  messages: [{ role: 'user', content: [text, ...content] }],
})
const text = { type: 'text', text: 'Tell me.' }
const search = { tools: [{ type: 'web_search' }] }
const response = { model: 'gpt-4.1', input: 'Tell me.', stream: true }
const claude = (model: string) => ({
  model,
  max_tokens: 4_000,
  messages: [{ role: 'user', content: 'Tell me.' }],
})

/** An order, and where its client leaves. */
export interface Left {
  readonly says: string
  readonly path: string
  readonly body: Body
  readonly serve: ReturnType<typeof chat>
  /** Absent: at the last of its text. */
  readonly when?: number
}

export const LEFT: readonly Left[] = [
  { says: 'a web search', path: '/v1/responses', body: { ...response, ...search }, serve: responses(SEARCH) },
  {
    says: 'an earlier response',
    path: '/v1/responses',
    body: { ...response, previous_response_id: 'resp_Operators12345' },
    serve: responses(READ),
  },
  {
    says: 'a file by its address',
    path: '/v1/responses',
    body: {
      ...response,
      input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://a.test/b.pdf' }] }],
    },
    serve: responses(READ),
  },
  {
    says: "three searches of Claude's",
    path: '/anthropic/v1/messages',
    body: {
      ...claude('claude-sonnet-4-5'),
      stream: true,
      tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }],
    },
    serve: messages({
      model: 'claude-sonnet-4-5',
      input: 45_000,
      output: 300,
      usd: 0.135 + 0.0045 + 0.03,
      searches: 3,
    }),
  },
  {
    says: 'a file by its id',
    path: '/v1/chat/completions',
    body: { model: 'gpt-4o', stream: true, ...user(FILE_ID) },
    serve: chat({ model: 'gpt-4o', input: 25_000, output: 25, usd: 0.0625 + 0.000_25 }),
  },
  {
    says: 'ten pictures by their addresses',
    path: '/v1/chat/completions',
    body: { model: 'gpt-4o', stream: true, ...user(...Array.from({ length: 10 }, () => PICTURE)) },
    serve: chat({ model: 'gpt-4o', input: 25_000, output: 25, usd: 0.0625 + 0.000_25 }),
  },
  {
    says: 'a prediction that is mostly rejected',
    path: '/v1/chat/completions',
    body: {
      model: 'gpt-4o',
      stream: true,
      ...user(),
      prediction: { type: 'content', content: ' word'.repeat(10_000) },
    },
    serve: chat({ model: 'gpt-4o', input: 10_000, output: 10_025, usd: 0.025 + 0.100_25 }),
  },
  {
    says: 'an answer of gpt-4o-mini that does not stream, before it came',
    path: '/v1/chat/completions',
    body: { model: 'gpt-4o-mini', ...user() },
    serve: chat({ model: 'gpt-4o-mini', input: 1_000, output: 4_000, usd: 0.000_15 + 0.0024, workMs: 1_500 }),
    when: 500,
  },
  {
    says: 'an answer of claude-opus-4-1 that does not stream, before it came',
    path: '/anthropic/v1/messages',
    body: claude('claude-opus-4-1'),
    serve: messages({ model: 'claude-opus-4-1', input: 1_000, output: 4_000, usd: 0.315, workMs: 1_500 }),
    when: 500,
  },
  {
    says: 'a search that does not stream, before it came',
    path: '/v1/responses',
    body: { ...response, stream: false, ...search },
    serve: responses({ ...SEARCH, output: 4_000, usd: 0.06 + 0.032 + 0.01, workMs: 1_500 }),
    when: 500,
  },
]

/** So many are left alone at once before new calls of the client are refused. */
const HANG_UPS = 150
const REASONING: Use = { model: 'gpt-5', input: 1_000, output: 20_000, usd: 0.201_25, workMs: 4_000 }

export const LEFT_EARLY: readonly Attack[] = [
  ...LEFT.map(
    ({ says, path, body, serve, when = LAST }, at): Attack => ({
      id: `A3.${at + 1}`,
      says: `left early: ${says}`,
      async run(world) {
        const attacker = await world.attacker({ budgetUsd: 1_000, script: serve })
        await attacker.leave(path, body, when)
        return await world.judge(attacker)
      },
    }),
  ),
  {
    id: 'A4',
    says: `${HANG_UPS} calls of gpt-5 at once, left after 1.5 of 4 s`,
    async run(world) {
      const attacker = await world.attacker({ script: chat(REASONING) })
      const body = { model: 'gpt-5', stream: true, ...user() }
      const leave = () => attacker.leave('/v1/chat/completions', body, 1_500)
      await Promise.all(Array.from({ length: HANG_UPS }, leave))
      const verdict = await world.judge(attacker, { patienceMs: 60_000 })
      return { ...verdict, figures: `${attacker.account.served} served; ${verdict.figures}` }
    },
  },
]

export const SEARCHES_LEFT: Attack = {
  id: 'B3',
  says: 'a hard budget of 0.5 USD, 60 web searches left early',
  async run(world) {
    const attacker = await world.attacker({ budgetUsd: 0.5, script: responses(SEARCH) })
    const lanes = 4
    const lane = async () => {
      for (let at = 0; at < 60 / lanes; at += 1) {
        await attacker.leave('/v1/responses', { ...response, ...search }, LAST)
        // What is in flight above the budget is what the formula allows.
        while (attacker.account.running >= lanes) await delay(20)
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    await world.judge(attacker)
    return within(0.5, attacker.account, 1 + lanes, `${attacker.account.served} of 60 served`)
  },
}
