import { connect } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { LABEL, type Script, sendJson } from '../provider.ts'
import { type Attack, type Attacker, type World, within } from '../world.ts'
import { chat, LAST, responses, type Use } from './answers.ts'
import { working } from './background.ts'

// What came after the findings: HTTP/2, routes, and work in the background that also streams.

const SEARCH: Use = { model: 'gpt-4.1', input: 30_000, output: 60, usd: 0.070_48, searches: 1 }
const ASK = { model: 'gpt-4.1', input: 'Tell me.', stream: true, tools: [{ type: 'web_search' }] }

/**
 * Calls over one connection of HTTP/2, each left by `leave`: resetting its stream, or all of them with the connection.
 * @param when what has to come before; milliseconds where it is a number
 */
async function overHttp2(
  world: World,
  { key, label }: Attacker,
  path: string,
  body: object,
  { calls, when, leave }: { calls: number; when: string | number; leave: 'stream' | 'connection' },
): Promise<void> {
  const session = connect(world.urls[0] ?? '')
  session.on('error', () => {})
  const head = { ':method': 'POST', ':path': path, authorization: `Bearer ${key}`, [LABEL]: label }
  const call = () =>
    new Promise<void>((resolve) => {
      const stream = session.request({ ...head, 'content-type': 'application/json' })
      let seen = ''
      const left = () => {
        if (leave === 'stream') stream.close(8)
        resolve()
      }
      stream.setEncoding('latin1')
      stream.on('error', () => resolve())
      stream.on('close', () => resolve())
      stream.on('data', (piece: string) => {
        seen += piece
        if (typeof when === 'string' && seen.includes(when)) left()
      })
      if (typeof when === 'number') setTimeout(left, when)
      stream.end(JSON.stringify(body))
    })
  await Promise.all(Array.from({ length: calls }, call))
  if (leave === 'connection') session.destroy()
  else await delay(200)
  session.destroy()
}

/** The first target works for 3 s; the other answers at once. */
const slowFirst: Script = {
  async answer(asked, response, account) {
    if (asked.path.startsWith('/slow')) {
      await delay(3_000)
      account.bill(SEARCH.usd)
      response.end()
      return
    }
    await responses(SEARCH).answer?.(asked, response, account)
  },
}

/** The first target fails after a second, once its client may have left. */
const failingFirst: Script = {
  async answer(asked, response, account) {
    if (!asked.path.startsWith('/slow')) return await responses(SEARCH).answer?.(asked, response, account)
    await delay(700)
    return sendJson(response, { error: { message: 'no', type: 'server_error' } }, 500)
  },
}

/** Repeats what it answered to an idempotency key, also to another client. */
function repeating(): Script {
  const answers = new Map<string, object>()
  return {
    answer({ headers, json }, response, account) {
      const key = String(headers['idempotency-key'])
      const message = { role: 'assistant', content: `You asked: ${JSON.stringify(json.messages)}` }
      const answer = answers.get(key) ?? {
        id: `chatcmpl-${answers.size}`,
        object: 'chat.completion',
        model: 'gpt-4.1',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
      }
      answers.set(key, answer)
      account.bill(0.000_1)
      sendJson(response, answer)
    },
  }
}

export const SINCE: readonly Attack[] = [
  {
    id: 'S1',
    says: 'HTTP/2: a web search, its stream reset at the last of its text',
    async run(world) {
      const attacker = await world.attacker({ script: responses(SEARCH) })
      await overHttp2(world, attacker, '/v1/responses', ASK, { calls: 3, when: LAST, leave: 'stream' })
      return await world.judge(attacker)
    },
  },
  {
    id: 'S2',
    says: 'HTTP/2: 120 calls of gpt-5 on one connection, which breaks off',
    async run(world) {
      const use = { model: 'gpt-5', input: 1_000, output: 20_000, usd: 0.201_25, workMs: 4_000 }
      const attacker = await world.attacker({ script: chat(use) })
      const body = { model: 'gpt-5', stream: true, messages: [{ role: 'user', content: 'x' }] }
      const way = { calls: 120, when: 1_500, leave: 'connection' } as const
      await overHttp2(world, attacker, '/v1/chat/completions', body, way)
      return await world.judge(attacker, { patienceMs: 60_000 })
    },
  },
  {
    id: 'S3',
    says: 'a route whose first target is given up: a hard budget of 1 USD, 40 web searches, each billed twice',
    async run(world) {
      const attacker = await world.attacker({ budgetUsd: 1, script: slowFirst })
      const lanes = 4
      const lane = async () => {
        for (let at = 0; at < 10; at += 1) await attacker.ask('/v1/responses', { ...ASK, model: 'routed' })
      }
      await Promise.all(Array.from({ length: lanes }, lane))
      const { figures } = await world.judge(attacker, { patienceMs: 10_000 })
      // A call has two of them at most.
      return within(1, attacker.account, 2 * (1 + lanes), figures)
    },
  },
  {
    id: 'S4',
    says: 'a route whose first target fails after its client left',
    async run(world) {
      const attacker = await world.attacker({ script: failingFirst })
      await attacker.leave('/v1/responses', { ...ASK, model: 'routed' }, 300)
      await delay(1_500)
      const verdict = await world.judge(attacker, { patienceMs: 10_000 })
      const { served } = attacker.account
      return served === 0 ? { held: true, figures: `nothing served; ${verdict.figures}` } : verdict
    },
  },
  {
    id: 'S5',
    says: 'a response in the background that streams, left at once, read by its conversation and deleted',
    async run(world) {
      const usd = 0.002 + 0.4
      const attacker = await world.attacker({ budgetUsd: 1_000, script: working(() => usd, true) })
      const body = {
        model: 'gpt-4.1',
        input: 'Work.',
        background: true,
        stream: true,
        conversation: 'conv_Operators12345',
      }
      await attacker.leave('/v1/responses', body, 'response.created')
      await attacker.ask('/v1/conversations/conv_Operators12345/items')
      const [id = ''] = attacker.account.ids
      await attacker.ask(`/v1/responses/${id}`, null, { method: 'DELETE' })
      return await world.judge(attacker, { patienceMs: 45_000 })
    },
  },
  {
    id: 'S6',
    says: 'another client’s answer, by its idempotency key',
    async run(world) {
      const script = repeating()
      const [owner, attacker] = [await world.attacker({ script }), await world.attacker({ script })]
      const headers = { 'idempotency-key': 'order-1' }
      const ask = ({ ask: send }: Attacker, content: string) =>
        send('/v1/chat/completions', { model: 'gpt-4.1', messages: [{ role: 'user', content }] }, { headers })
      const [first, again, stolen] = [
        await ask(owner, 'a secret'),
        await ask(owner, 'a secret'),
        await ask(attacker, 'something else'),
      ]
      const isOwnRepeated = first.status === 200 && again.text === first.text
      return {
        held: isOwnRepeated && !stolen.text.includes('a secret'),
        figures: `its owner got ${isOwnRepeated ? 'it' : 'another'} again, the other ${stolen.status}`,
      }
    },
  },
]
