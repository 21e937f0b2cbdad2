import { type Script, sendJson } from '../provider.ts'
import type { Attack, Attacker, Body, Verdict, World } from '../world.ts'

// C: objects of another client, named where or as they are not looked for.

const PREFIXES: Readonly<Record<string, string>> = {
  files: 'file-',
  responses: 'resp_',
  conversations: 'conv_',
  vector_stores: 'vs_',
  evals: 'eval_',
  runs: 'evalrun_',
  jobs: 'ftjob-',
  agents: 'ag_',
  containers: 'cntr_',
}
const USAGE = { input_tokens: 10, output_tokens: 2, total_tokens: 12 }
let made = 0

/** A provider where all clients have one account: it finds whatever a request names. */
const keeping: Script = {
  answer({ method, path, json }, response) {
    const segments = path.split('/')
    const collection = segments.at(-1) ?? ''
    made += 1
    const tail = `${Math.random().toString(36).slice(2, 10)}Nr${10_000 + made}`
    if (method === 'GET' && path.includes('/fine_tuning/jobs/'))
      return sendJson(response, {
        id: collection,
        object: 'fine_tuning.job',
        status: 'succeeded',
        model: 'gpt-4.1-mini-2025-04-14',
        fine_tuned_model: `ft:gpt-4.1-mini-2025-04-14:acme::${collection.slice(-8)}`,
        trained_tokens: 10,
      })
    if (path.endsWith('/messages')) {
      const container = Array.isArray(json.tools)
        ? { container: { id: `container_${tail}`, expires_at: 'x' } }
        : {}
      const content = [{ type: 'text', text: 'Hi' }]
      const message = {
        id: `msg_${tail}`,
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content,
      }
      return sendJson(response, {
        ...message,
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 2 },
        ...container,
      })
    }
    const prefix = PREFIXES[collection]
    if (method === 'POST' && prefix !== undefined) {
      const answered =
        collection === 'responses'
          ? { status: 'completed', model: 'gpt-4o-mini', output: [], usage: USAGE }
          : {}
      return sendJson(response, { id: `${prefix}${tail}`, object: collection, ...answered })
    }
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
    return sendJson(response, {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'gpt-4o-mini',
      choices,
      usage,
    })
  },
}

/** A request that must not reach the provider. */
type Theft = readonly [path: string, body: Body, headers?: Readonly<Record<string, string>>]

interface Objects {
  readonly acme: Attacker
  /** The attacker. */
  readonly beta: Attacker
  make(path: string, body?: Body): Promise<string>
  own(path: string, body?: Body): Promise<string>
}

function theft(id: string, says: string, prepare: (objects: Objects) => Promise<readonly Theft[]>): Attack {
  return { id, says, run: (world) => steal(world, prepare) }
}

async function steal(
  world: World,
  prepare: (objects: Objects) => Promise<readonly Theft[]>,
): Promise<Verdict> {
  const [acme, beta] = await Promise.all([
    world.attacker({ script: keeping }),
    world.attacker({ script: keeping }),
  ])
  const makeFor = async (client: Attacker, path: string, body: Body = {}) => {
    const { status, text, json } = await client.ask(path, body)
    if (status !== 200 || typeof json.id !== 'string') throw new Error(`${path}: ${status} ${text}`)
    return json.id
  }
  const thefts = await prepare({
    acme,
    beta,
    make: (path, body) => makeFor(acme, path, body),
    own: (path, body) => makeFor(beta, path, body),
  })
  const passed: string[] = []
  for (const [path, body, headers] of thefts) {
    const before = beta.account.asked.length
    const { status } = await beta.ask(path, body, { method: 'POST', ...(headers && { headers }) })
    if (status < 400 || beta.account.asked.length > before) passed.push(`POST ${path}: ${status}`)
  }
  const figures = passed.length === 0 ? `${thefts.length} refused` : `passed: ${passed.join('; ')}`
  return { held: passed.length === 0 && thefts.length > 0, figures }
}

function upload(content: string): FormData {
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', new Blob([content]), 'lines.jsonl')
  return form
}
const line = (body: object) =>
  `${JSON.stringify({ custom_id: '1', method: 'POST', url: '/v1/responses', body: { model: 'gpt-4o-mini', ...body } })}\n`

const RESPONSES = '/v1/responses'
const EVAL = { data_source_config: { type: 'custom', item_schema: {} }, testing_criteria: [] }
const member = (name: string, value: string) => `{"model":"gpt-4o-mini","input":"x","${name}":${value}}`
const run = (source: object) => ({ data_source: { type: 'completions', model: 'gpt-4o-mini', source } })
const claude = (container: string) =>
  `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"x"}],"container":${container}}`
/** More than was once looked through. */
const SPACES = ' '.repeat(1_100)
const utf32 = (text: string) => {
  const bytes = Buffer.alloc(text.length * 4)
  for (let at = 0; at < text.length; at += 1) bytes.writeUInt32LE(text.charCodeAt(at), at * 4)
  return bytes
}

export const OBJECTS: readonly Attack[] = [
  theft('C1', 'a run of an own eval over all stored completions', async ({ own }) => [
    [`/v1/evals/${await own('/v1/evals', EVAL)}/runs`, run({ type: 'stored_completions' })],
  ]),
  theft('C2', 'a run of an own eval over all responses', async ({ own }) => [
    [
      `/v1/evals/${await own('/v1/evals', EVAL)}/runs`,
      { data_source: { type: 'responses', source: { type: 'responses' } } },
    ],
  ]),
  theft('C3', 'an eval whose data are all stored completions', async () => [
    ['/v1/evals', { data_source_config: { type: 'stored_completions' }, testing_criteria: [] }],
    ['/v1/evals', { data_source_config: { type: 'logs' }, testing_criteria: [] }],
  ]),
  theft('C4', 'a run of an own eval over another’s file, a container with it', async ({ make, own }) => {
    const file = await make('/v1/files', upload('{}\n'))
    const form = new FormData()
    form.append('name', 'c')
    form.append('file_ids[]', file)
    return [
      [`/v1/evals/${await own('/v1/evals', EVAL)}/runs`, run({ type: 'file_id', id: file })],
      [
        '/v1/containers',
        `name=c&file_ids[]=${file}`,
        { 'content-type': 'application/x-www-form-urlencoded' },
      ],
      ['/v1/containers', form],
    ]
  }),
  theft('C5', 'a batch whose lines name another’s response', async ({ make }) => {
    const response = await make(RESPONSES, { model: 'gpt-4o-mini', input: 'x' })
    return [
      ['/v1/files', upload(line({ input: 'x', previous_response_id: response }))],
      ['/v1/files', upload(line({ input: [{ type: 'item_reference', id: response }] }))],
    ]
  }),
  theft('C6', 'a batch whose lines name another’s files and vector stores', async ({ make }) => {
    const file = await make('/v1/files', upload('{}\n'))
    const store = await make('/v1/vector_stores', { name: 's' })
    const input = [{ role: 'user', content: [{ type: 'input_file', file_id: file }] }]
    return [
      ['/v1/files', upload(line({ input }))],
      [
        '/v1/files',
        upload(line({ input: 'x', tools: [{ type: 'file_search', vector_store_ids: [store] }] })),
      ],
    ]
  }),
  theft('C7', 'another’s conversation behind 1,100 spaces', async ({ make }) => {
    const id = await make('/v1/conversations')
    return [[RESPONSES, member('conversation', `{${SPACES}"id":${SPACES}"${id}"}`)]]
  }),
  theft('C8', 'another’s conversation behind a member that is "id"', async ({ make }) => {
    const id = await make('/v1/conversations')
    return [[RESPONSES, member('conversation', `{"object":"id","id":"${id}"}`)]]
  }),
  theft('C9', 'another’s conversation or store behind null', async ({ make }) => {
    const id = await make('/v1/conversations')
    const store = await make('/v1/vector_stores', { name: 's' })
    return [
      [RESPONSES, member('conversation', `{"id":null,"id":"${id}"}`)],
      [RESPONSES, member('tools', `[{"type":"file_search","vector_store_ids":[null,"${store}"]}]`)],
    ]
  }),
  theft('C10', 'another’s container, in four spellings', async ({ acme }) => {
    const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }]
    const messages = [{ role: 'user', content: 'x' }]
    const body = { model: 'claude-sonnet-4-5', max_tokens: 10, messages, tools }
    const { json } = await acme.ask('/anthropic/v1/messages', body)
    const { id } = Object(json.container)
    const path = '/anthropic/v1/messages'
    return [
      [path, claude(`"${id}"`)],
      [path, claude(`{${SPACES}"id":"${id}"}`)],
      [path, claude(`{"object":"id","id":"${id}"}`)],
      [path, claude(`{"id":null,"id":"${id}"}`)],
    ]
  }),
  theft('C11', 'another’s agent at Mistral', async ({ make }) => {
    const agent = await make('/mistral/v1/agents', { model: 'mistral-medium-latest', name: 'a' })
    const messages = [{ role: 'user', content: 'x' }]
    return [['/mistral/v1/agents/completions', { agent_id: agent, messages }]]
  }),
  theft('C12', 'another’s tuned model, in chats and responses', async ({ acme, make }) => {
    const job = await make('/v1/fine_tuning/jobs', {
      model: 'gpt-4.1-mini-2025-04-14',
      training_file: 'file-x',
    })
    const { json } = await acme.ask(`/v1/fine_tuning/jobs/${job}`)
    const model = String(json.fine_tuned_model)
    return [
      ['/v1/chat/completions', { model, messages: [{ role: 'user', content: 'x' }] }],
      [RESPONSES, { model, input: 'x' }],
    ]
  }),
  theft('C13', 'another’s response at vLLM, in UTF-32 and UTF-16', async ({ make }) => {
    const id = await make('/vllm/v1/responses', { model: 'qwen-vl', input: 'x' })
    const body = JSON.stringify({ model: 'qwen-vl', input: 'x', previous_response_id: id })
    return [
      ['/vllm/v1/responses', utf32(body)],
      ['/vllm/v1/responses', Buffer.from(body, 'utf16le')],
    ]
  }),
]
