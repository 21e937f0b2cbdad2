import { setTimeout as delay } from 'node:timers/promises'
import { type Account, type Asked, type Script, sendEvents, sendJson, sse } from '../provider.ts'
import { type Attack, type Attacker, type World, within } from '../world.ts'

// A2 and B6: work in the background, whose result is read by another door, or which is deleted.

interface Work {
  readonly id: string
  readonly path: string
  readonly ended: object
}

const RUN_USE = { prompt_tokens: 1_000, completion_tokens: 5_000, total_tokens: 6_000, cached_tokens: 0 }

/** Work that has ended as soon as it was begun, and says what it used where it is asked for itself. */
export function working(usdOf: (asked: Asked) => number, streams = false): Script {
  const works = new Map<string, Work>()
  let made = 0
  const begin = ({ path, json }: Asked, account: Account): Work => {
    made += 1
    const id = `${prefixOf(path)}${Math.random().toString(36).slice(2, 10)}${10_000 + made}`
    const model = String(json.model ?? 'gpt-4.1')
    const output = Number(json.max_output_tokens ?? 50_000)
    const usage = { input_tokens: 1_000, output_tokens: output, total_tokens: 1_000 + output }
    const ended = path.endsWith('/runs')
      ? {
          id,
          object: 'eval.run',
          status: 'completed',
          per_model_usage: [{ model_name: 'gpt-4.1', ...RUN_USE }],
        }
      : path.endsWith('/jobs')
        ? { id, object: 'fine_tuning.job', status: 'succeeded', model, trained_tokens: 900_000 }
        : { id, object: 'response', status: 'completed', model, output: [], usage }
    const work = { id, path, ended }
    works.set(id, work)
    account.ids.add(id)
    return work
  }
  return {
    async answer(asked, response, account) {
      const { method, path, json } = asked
      const work = [...works.values()].find(({ id }) => path.includes(id))
      if (method === 'POST' && work === undefined) {
        const begun = begin(asked, account)
        account.bill(usdOf(asked))
        if (streams) {
          const created = {
            type: 'response.created',
            response: { ...begun.ended, status: 'queued', ...NOTHING },
          }
          return await sendEvents(response, [sse(created, true), 1_500])
        }
        const isBehind = json.background === true || !path.endsWith('/responses')
        return sendJson(response, isBehind ? { ...begun.ended, status: 'queued', ...NOTHING } : begun.ended)
      }
      if (work === undefined || (work.path !== path && !path.endsWith(work.id)))
        return sendJson(response, {
          object: 'list',
          data: [{ id: 'item_1', content: 'the result' }],
          has_more: false,
        })
      if (method === 'DELETE') {
        works.delete(work.id)
        return sendJson(response, { id: work.id, deleted: true })
      }
      return sendJson(response, work.ended)
    },
  }
}

const NOTHING = { usage: null, trained_tokens: null, per_model_usage: null }
const prefixOf = (path: string) =>
  path.endsWith('/runs') ? 'evalrun_' : path.endsWith('/jobs') ? 'ftjob-' : 'resp_'

const BEGIN = { model: 'gpt-4.1', input: 'Work.', background: true }
const RESPONSE_USD = 0.002 + 0.4
const RUN_USD = 0.002 + 0.04
/** Of gpt-4.1-mini: 900,000 tokens at 5 USD a million. */
const TRAINING_USD = 4.5

const idOf = async (attacker: Attacker, path: string, body: object) =>
  String((await attacker.ask(path, body)).json.id ?? '')

function door(
  id: string,
  says: string,
  usd: (asked: Asked) => number,
  read: (attacker: Attacker) => Promise<void>,
  judge = (world: World, attacker: Attacker) => world.judge(attacker, { patienceMs: 45_000 }),
): Attack {
  return {
    id,
    says,
    async run(world) {
      const attacker = await world.attacker({ budgetUsd: 1_000, script: working(usd) })
      await read(attacker)
      return await judge(world, attacker)
    },
  }
}

async function train(attacker: Attacker, behind: string): Promise<void> {
  const job = await idOf(attacker, '/v1/fine_tuning/jobs', {
    model: 'gpt-4.1-mini-2025-04-14',
    training_file: 'file-Operators12345',
  })
  await attacker.ask(`/v1/fine_tuning/jobs/${job}/${behind}`)
}

export const BACKGROUND: readonly Attack[] = [
  door(
    'A2.1',
    'a response in the background, read by its conversation',
    () => RESPONSE_USD,
    async (attacker) => {
      await attacker.ask('/v1/responses', { ...BEGIN, conversation: 'conv_Operators12345' })
      await attacker.ask('/v1/conversations/conv_Operators12345/items')
    },
  ),
  door(
    'A2.2',
    'a response in the background, read by the input of the next',
    ({ json }) => (json.background === true ? RESPONSE_USD : 0.002 + 16 * 0.000_008),
    async (attacker) => {
      const first = await idOf(attacker, '/v1/responses', BEGIN)
      const next = { model: 'gpt-4.1', input: 'And?', previous_response_id: first, max_output_tokens: 16 }
      const second = await idOf(attacker, '/v1/responses', next)
      await attacker.ask(`/v1/responses/${second}/input_items`)
    },
  ),
  door(
    'A2.3',
    'a run of an eval, read by its output items',
    () => RUN_USD,
    async (attacker) => {
      const runs = '/v1/evals/eval_Operators12345/runs'
      const run = await idOf(attacker, runs, {
        data_source: { type: 'completions', model: 'gpt-4.1', source: { type: 'file_content', content: [] } },
      })
      await attacker.ask(`${runs}/${run}/output_items`)
    },
  ),
  door(
    'A2.4',
    'a training, its model read by its events',
    () => TRAINING_USD,
    (attacker) => train(attacker, 'events'),
  ),
  door(
    'A2.5',
    'a training, its model read by its checkpoints',
    () => TRAINING_USD,
    (attacker) => train(attacker, 'checkpoints'),
  ),
  door(
    'A2.6',
    'a response in the background, read by its conversation and deleted',
    () => RESPONSE_USD,
    async (attacker) => {
      const id = await idOf(attacker, '/v1/responses', { ...BEGIN, conversation: 'conv_Operators12345' })
      await attacker.ask('/v1/conversations/conv_Operators12345/items')
      await attacker.ask(`/v1/responses/${id}`, null, { method: 'DELETE' })
    },
  ),
]

/** Of responses alone, as large as they ask to be. */
export const deletable = () => working(({ json }) => 0.002 + Number(json.max_output_tokens) * 0.000_008)

/** @returns Whether it was begun. */
export async function beginAndDelete(attacker: Attacker, tokens: number, gateway = 0): Promise<boolean> {
  const body = { ...BEGIN, conversation: 'conv_Operators12345', max_output_tokens: tokens }
  const { json } = await attacker.ask('/v1/responses', body, { gateway })
  if (json.object !== 'response') return false
  await attacker.ask('/v1/conversations/conv_Operators12345/items', null, { gateway })
  await attacker.ask(`/v1/responses/${String(json.id)}`, null, { method: 'DELETE', gateway })
  return true
}

export const DELETED: Attack = {
  id: 'B6',
  says: 'a hard budget of 0.05 USD, 12 responses in the background, read and deleted',
  async run(world) {
    const attacker = await world.attacker({ budgetUsd: 0.05, script: deletable() })
    for (let at = 0; at < 12; at += 1) {
      await beginAndDelete(attacker, 1_000)
      await delay(200)
    }
    return within(0.05, attacker.account, 1, `${attacker.account.served} of 12 served`)
  },
}
