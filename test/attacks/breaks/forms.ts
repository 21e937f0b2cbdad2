import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { type Script, sendJson, sse } from '../provider.ts'
import { type Attack, type Attacker, type Verdict, type World, within } from '../world.ts'
import { chat } from './answers.ts'

// A5, A7, A8, A9 and B4: the form of the answer, and what the gateway cannot read.

const FILM = {
  contents: [
    { role: 'user', parts: [{ text: 'Tell me.' }, { fileData: { fileUri: 'https://a.test/f.mp4' } }] },
  ],
}
/** 300,000 and 20,003 tokens of gemini-2.5-pro, above 200,000. */
const FILM_USD = 300_000 * 2.5e-6 + 20_003 * 15e-6

/** Google's system parameters, and their headers, as its documentation has them. */
const gemini: Script = {
  answer({ path, query, headers }, response, account) {
    account.bill(FILM_USD, 320_003)
    const param = (name: string) => query.get(name) ?? query.get(`$${name}`) ?? headers[`x-goog-${name}`]
    const mask = param('fields') ?? headers['x-goog-field-mask'] ?? headers['x-goog-fieldmask']
    const usageMetadata = {
      promptTokenCount: 300_000,
      candidatesTokenCount: 20_003,
      totalTokenCount: 320_003,
    }
    const document = {
      candidates: [{ content: { role: 'model', parts: [{ text: 'It is a film.' }] }, finishReason: 'STOP' }],
      modelVersion: 'gemini-2.5-pro',
      ...(mask === undefined ? { usageMetadata } : {}),
    }
    if (param('alt') === 'proto' || headers.accept === 'application/x-protobuf') {
      response
        .writeHead(200, { 'content-type': 'application/x-protobuf' })
        .end(Buffer.from([10, 4, 8, 1, 16, 2]))
      return
    }
    const callback = param('callback')
    if (typeof callback === 'string') {
      response.writeHead(200, { 'content-type': 'text/javascript' })
      response.end(`// API callback\n${callback}(${JSON.stringify(document)});`)
      return
    }
    if (path.includes(':stream') && param('alt') === 'sse') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(sse(document))
      return
    }
    sendJson(response, document)
  },
}

const WHOLE = '/gemini/v1beta/models/gemini-2.5-pro:generateContent'
const STREAM = '/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent'

type FormRequest = readonly [path: string, headers?: Readonly<Record<string, string>>]
const FORMS: readonly (readonly [says: string, ...requests: readonly FormRequest[]])[] = [
  [
    '?fields=candidates, also as a header',
    [`${WHOLE}?fields=candidates`],
    [WHOLE, { 'x-goog-field-mask': 'candidates' }],
    [WHOLE, { 'x-goog-fieldmask': 'candidates' }],
  ],
  ['?$fields=candidates', [`${WHOLE}?$fields=candidates`]],
  ['?%66ields=candidates', [`${WHOLE}?%66ields=candidates`]],
  ['?alt=sse&fields=candidates', [`${STREAM}?alt=sse&fields=candidates`]],
  [
    '?alt=proto, also as a header',
    [`${WHOLE}?alt=proto`],
    [`${WHOLE}?$alt=proto`],
    [WHOLE, { accept: 'application/x-protobuf' }],
  ],
  ['?callback=cb', [`${WHOLE}?callback=cb`], [`${WHOLE}?$callback=cb`]],
]

const FILM_OF_VLLM = {
  model: 'qwen-vl',
  messages: [{ role: 'user', content: [{ type: 'video_url', video_url: { url: 'https://a.test/f.mp4' } }] }],
}
const vllm = () => chat({ model: 'qwen-vl', input: 120_000, output: 50, usd: 0.120_05, endMs: 0 })
const membersOf = JSON.stringify(FILM_OF_VLLM).slice(1)
const STREAMS: readonly (readonly [says: string, ...bodies: readonly string[]])[] = [
  ['"stream": "true"', `{"stream":"true",${membersOf}`],
  ['"stream": 1, "on"', `{"stream":1,${membersOf}`, `{"stream":"on",${membersOf}`],
  [
    'stream_options twice',
    `{"stream":true,"stream_options":{"include_usage":true},"stream_options":{"include_usage":false},${membersOf}`,
  ],
  ['"include_usage": 0', `{"stream":true,"stream_options":{"include_usage":0},${membersOf}`],
]

/** 16,000 tokens of spaces: they compress 900 times. */
export const spaces = (coding: keyof typeof CODERS): Script => ({
  answer(_asked, response, account) {
    const usage = { prompt_tokens: 1_000, completion_tokens: 16_000, total_tokens: 17_000 }
    const message = { role: 'assistant', content: ' '.repeat(2_000_000) }
    account.bill(0.0025 + 0.16, 17_000)
    const document = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'gpt-4o',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    }
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding })
    response.end(CODERS[coding](Buffer.from(JSON.stringify(document))))
  },
})
const CODERS = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }
export const ASK_SPACES = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Say spaces.' }] }

/** Every one of several requests, each by a client of its own. */
async function eachOf<T>(
  world: World,
  requests: readonly T[],
  script: () => Script,
  ask: (attacker: Attacker, request: T) => Promise<unknown>,
  budgetUsd?: number,
): Promise<Verdict> {
  const verdicts = await Promise.all(
    requests.map(async (request) => {
      const attacker = await world.attacker({
        ...(budgetUsd === undefined ? {} : { budgetUsd }),
        script: script(),
      })
      await ask(attacker, request)
      return await world.judge(attacker, { mayRefuse: true })
    }),
  )
  return verdicts.find(({ held }) => !held) ?? verdicts[0] ?? { held: false, figures: 'nothing was tried' }
}

export const ANSWER_FORMS: readonly Attack[] = [
  ...FORMS.map(
    ([says, ...requests], at): Attack => ({
      id: `A5.${at + 1}`,
      says: `Gemini: ${says}`,
      run: (world) =>
        eachOf(
          world,
          requests,
          () => gemini,
          (attacker, [path, headers = {}]) =>
            attacker.ask(path, FILM, { headers: { 'x-goog-user-project': 'another', ...headers } }),
        ),
    }),
  ),
  ...STREAMS.map(
    ([says, ...bodies], at): Attack => ({
      id: `A7.${at + 1}`,
      says: `vLLM: ${says}`,
      run: (world) =>
        eachOf(world, bodies, vllm, (attacker, body) => attacker.ask('/vllm/v1/chat/completions', body)),
    }),
  ),
  ...(['gzip', 'br', 'deflate'] as const).map(
    (coding, at): Attack => ({
      id: `A8.${at + 1}`,
      says: `16,000 tokens of spaces in ${coding}`,
      run: (world) =>
        eachOf(
          world,
          [ASK_SPACES],
          () => spaces(coding),
          (attacker, body) => attacker.ask('/v1/chat/completions', body),
          1_000,
        ),
    }),
  ),
]

/** Refused, so that the provider was never asked. */
const refusedAll = (attacker: Attacker): Verdict => ({
  held: attacker.account.asked.length === 0,
  figures: attacker.account.asked.length === 0 ? 'refused' : `passed: ${attacker.account.asked.join(', ')}`,
})
const taking: Script = {
  answer: (_asked, response, account) => {
    account.bill(0.05)
    sendJson(response, { id: 'x_1', status: 'ok', key: 'sk-made' })
  },
}

export const OTHER_FORMS: readonly Attack[] = [
  {
    id: 'A9.4',
    says: 'POST /key/generate at an unknown host, with the operator’s credential',
    async run(world) {
      const attacker = await world.attacker({ script: taking })
      await attacker.ask('/openai-compatible/key/generate', { models: [] })
      return refusedAll(attacker)
    },
  },
  {
    id: 'A9.5',
    says: 'a path that is not read, left before its answer: no cost, never 0',
    async run(world) {
      const script: Script = {
        async answer(_asked, response, account) {
          await delay(1_000)
          account.bill(0.05)
          sendJson(response, { result: 'dear' })
        },
      }
      const attacker = await world.attacker({ script })
      await attacker.leave('/openai-compatible/v1/something/dear', { model: 'go-model', task: 'x' }, 300)
      await world.judge(attacker, { patienceMs: 5_000 })
      const [row] = await attacker.rows()
      const isNull = row !== undefined && row.cost_pico === null && row.unpriced_reason !== null
      return { held: isNull, figures: `cost ${String(row?.cost_pico)} (${String(row?.unpriced_reason)})` }
    },
  },
  {
    id: 'A9.6',
    says: 'a key of one model: other models in tools, graders, assistants',
    async run(world) {
      const attacker = await world.attacker({ models: ['gpt-4o-mini'], script: taking })
      const grader = {
        type: 'label_model',
        name: 'g',
        model: 'gpt-4.1',
        input: [],
        labels: [],
        passing_labels: [],
      }
      await attacker.ask('/v1/responses', {
        model: 'gpt-4o-mini',
        input: 'Draw.',
        tools: [{ type: 'image_generation', model: 'gpt-image-1' }],
      })
      await attacker.ask('/v1/evals', {
        data_source_config: { type: 'custom', item_schema: {} },
        testing_criteria: [grader],
      })
      await attacker.ask('/v1/assistants', { model: 'gpt-4.1', name: 'a' })
      return refusedAll(attacker)
    },
  },
]

export const UNDECODABLE: Attack = {
  id: 'B4',
  says: 'a hard budget of 0.5 USD, 15 answers that inflate 900 times',
  async run(world) {
    const attacker = await world.attacker({ budgetUsd: 0.5, script: spaces('gzip') })
    for (let at = 0; at < 15; at += 1) await attacker.ask('/v1/chat/completions', ASK_SPACES)
    return within(0.5, attacker.account, 2, `${attacker.account.served} of 15 served`)
  },
}
