import { setTimeout as delay } from 'node:timers/promises'
import { type Script, sendJson } from '../provider.ts'
import { type Attack, type Attacker, show, type Verdict, within } from '../world.ts'
import { DELETED } from './background.ts'
import { UNDECODABLE } from './forms.ts'
import { SEARCHES_LEFT } from './left.ts'
import { TRANSCRIPTIONS } from './sessions.ts'

// B: hard budgets and tokens a minute.

/** 200 prompts of 100 tokens, each answered to its bound of 256, by gpt-3.5-turbo-instruct. */
const PROMPTS = 200
export const completions: Script = {
  async answer({ json }, response, account) {
    const prompts = Array.isArray(json.prompt) ? json.prompt.length : 1
    const [input, output] = [prompts, prompts * 256]
    account.bill(input * 1.5e-6 + output * 2e-6, input + output)
    await delay(500)
    sendJson(response, {
      id: 'cmpl-1',
      object: 'text_completion',
      model: 'gpt-3.5-turbo-instruct',
      choices: Array.from({ length: prompts }, (_, index) => ({ index, text: 'x', finish_reason: 'length' })),
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    })
  },
}
export const MANY_PROMPTS = {
  model: 'gpt-3.5-turbo-instruct',
  max_tokens: 256,
  prompt: Array.from({ length: PROMPTS }, () => 'a'),
}

/** A server written in Go: the last of names that differ in case alone counts. */
export const goServer: Script = {
  async answer({ json }, response, account) {
    const bounds = Object.entries(json).filter(([name]) => name.toLowerCase() === 'max_tokens')
    const output = Math.max(...bounds.map(([, value]) => Number(value)))
    account.bill(10e-6 + output * 10e-6, 10 + output)
    await delay(1_000)
    sendJson(response, {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'go-model',
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 10, completion_tokens: output, total_tokens: 10 + output },
    })
  },
}

export const IN_OTHER_LETTERS = {
  model: 'go-model',
  max_tokens: 1,
  Max_Tokens: 4_000,
  messages: [{ role: 'user', content: 'x' }],
}

const atOnce = (attacker: Attacker, calls: number, path: string, body: object) =>
  Promise.all(Array.from({ length: calls }, () => attacker.ask(path, body)))

/** A search that reads 30,000 tokens; all else is as small as it says. */
const searching: Script = {
  async answer({ json }, response, account) {
    const isSearch = Array.isArray(json.tools)
    const [input, output] = isSearch ? [30_000, 60] : [50, 200]
    account.bill(isSearch ? 0.070_48 : 0.0017, input + output)
    // Longer than a call waits for others to end.
    await delay(isSearch ? 0 : 6_500)
    sendJson(response, {
      id: `resp_${Math.random().toString(36).slice(2)}`,
      object: 'response',
      model: 'gpt-4.1',
      status: 'completed',
      output: isSearch
        ? [{ type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } }]
        : [],
      usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    })
  },
}

async function plainAfterSearch(attacker: Attacker): Promise<Verdict> {
  const plain = { model: 'gpt-4.1', input: 'Tell me.', max_output_tokens: 200 }
  await attacker.ask('/v1/responses', { ...plain, tools: [{ type: 'web_search' }] })
  const answers = await atOnce(attacker, 30, '/v1/responses', plain)
  const served = answers.filter(({ status }) => status === 200).length
  return { held: served === 30, figures: `${served} of 30 plain calls served, ${30 - served} refused` }
}

export const BUDGETS: readonly Attack[] = [
  {
    id: 'B1',
    says: 'a hard budget of 0.5 USD, 100 completions of 200 prompts each',
    async run(world) {
      const attacker = await world.attacker({ budgetUsd: 0.5, script: completions })
      await atOnce(attacker, 100, '/v1/completions', MANY_PROMPTS)
      return within(0.5, attacker.account, 1, `${attacker.account.served} of 100 served`)
    },
  },
  {
    id: 'B2',
    says: '20,000 tokens a minute, 20 completions of 200 prompts each',
    async run(world) {
      const attacker = await world.attacker({ tokens: 20_000, script: completions })
      await atOnce(attacker, 20, '/v1/completions', MANY_PROMPTS)
      const { tokens, served } = attacker.account
      const one = PROMPTS * 257
      return { held: tokens <= 20_000 + one, figures: `${show(tokens)} tokens, ${served} of 20 served` }
    },
  },
  SEARCHES_LEFT,
  UNDECODABLE,
  TRANSCRIPTIONS,
  DELETED,
  {
    id: 'B7',
    says: 'a hard budget of 0.2 USD, Max_Tokens beside max_tokens, 40 at once',
    async run(world) {
      const attacker = await world.attacker({ budgetUsd: 0.2, script: goServer })
      await atOnce(attacker, 40, '/openai-compatible/v1/chat/completions', IN_OTHER_LETTERS)
      return within(0.2, attacker.account, 1, `${attacker.account.served} of 40 served`)
    },
  },
  {
    id: 'B8',
    says: 'a budget of 1 USD, 30 plain calls at once after one honest search',
    run: async (world) => plainAfterSearch(await world.attacker({ budgetUsd: 1, script: searching })),
  },
]
