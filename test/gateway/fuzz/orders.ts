import type { Random } from './numbers.ts'

// What is ordered of a provider, what it answers, and what that costs by its list.

/** One piece of an answer. */
export interface Piece {
  readonly text: string
  /** `words`: some of the answer. `finish`: says that nothing more is generated. `usage`: what was used. */
  readonly is: 'head' | 'words' | 'finish' | 'usage'
}

export interface Order {
  readonly name: string
  readonly path: string
  readonly contentType: string
  readonly body: string
  readonly answerType: string
  readonly pieces: readonly Piece[]
  /** What the provider charges for all of it, pico-USD. */
  readonly listPico: bigint
  /** What it charges for a token of prompt and of answer that bytes show, pico-USD; 0: it bills something else. */
  readonly inPico: bigint
  readonly outPico: bigint
  /** Words of the prompt, each a token at least. */
  readonly promptWords: number
  /** What it charges beyond what the request's and the answer's bytes show, pico-USD. */
  readonly hiddenPico: bigint
}

/** In every text, and nowhere else: each is a token at least. */
export const WORD = 'hello'
const words = (count: number) => Array.from({ length: count }, () => ` ${WORD}`).join('')

const upTo = (random: Random, most: number) => 1 + Math.floor(random() * most)
function pick<T>(random: Random, from: readonly [T, ...T[]]): T {
  return from[Math.floor(random() * from.length)] ?? from[0]
}

/** USD per million tokens as pico-USD per token. */
const perMillion = (usd: number) => BigInt(Math.round(usd * 1_000_000))

/** One more thing that a request asks for: its members, and tokens of prompt that no byte of it shows. */
interface Feature {
  readonly name: string
  readonly fields: object
  readonly hidden?: number
  readonly reasoning?: number
  readonly feePico?: bigint
  readonly searches?: number
}

interface Made {
  readonly prompt: string
  readonly input: number
  readonly output: number
  readonly texts: readonly string[]
  readonly feature: Feature
  readonly isStream: boolean
}

const PLAIN: Feature = { name: 'plain', fields: {} }
const SEARCH_PICO = 10_000_000_000n

function make(
  random: Random,
  attempt: number,
  features: readonly [Feature, ...Feature[]],
  chance = 0.7,
): Made {
  const promptWords = upTo(random, 40)
  const texts = Array.from({ length: upTo(random, 4) }, () => words(upTo(random, 20)))
  const feature = pick(random, features)
  const shown = texts.join('').split(WORD).length - 1
  return {
    prompt: `attempt-${attempt}-${words(promptWords)}`,
    input: promptWords + 12 + (feature.hidden ?? 0),
    output: shown + upTo(random, 5) + (feature.reasoning ?? 0),
    texts,
    feature,
    isStream: random() < chance,
  }
}

const sse = (data: object, event?: string) =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`

/** A whole answer, which says its usage behind its text: in two pieces. */
function whole(before: string, text: string, behind: string): Piece[] {
  return [
    { text: before + text, is: 'words' },
    { text: behind, is: 'usage' },
  ]
}

function finish(
  name: string,
  { prompt, input, output, feature, isStream }: Made,
  [inUsd, outUsd]: readonly [number, number],
  order: Pick<Order, 'path' | 'pieces'> & { readonly body: object },
): Order {
  const inPico = perMillion(inUsd)
  const outPico = perMillion(outUsd)
  return {
    name: `${name}, ${feature.name}, ${isStream ? 'streamed' : 'whole'}`,
    path: order.path,
    contentType: 'application/json',
    body: JSON.stringify(order.body),
    answerType: isStream ? 'text/event-stream' : 'application/json',
    pieces: order.pieces,
    listPico: BigInt(input) * inPico + BigInt(output) * outPico + (feature.feePico ?? 0n),
    inPico,
    outPico,
    promptWords: prompt.split(WORD).length - 1,
    hiddenPico:
      BigInt(feature.hidden ?? 0) * inPico +
      BigInt(feature.reasoning ?? 0) * outPico +
      (feature.feePico ?? 0n),
  }
}

const CHAT_FEATURES: readonly [Feature, ...Feature[]] = [
  PLAIN,
  { name: 'three answers', fields: { n: 3 } },
  { name: 'a function', fields: { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] } },
  { name: 'a prediction', fields: { prediction: { type: 'content', content: 'x' } }, reasoning: 10_000 },
  { name: 'keys in other letters', fields: { Max_Tokens: 4_000, max_tokens: 100 } },
  { name: 'its usage asked for', fields: { stream_options: { include_usage: true } } },
  { name: 'no usage asked for', fields: { stream_options: { include_usage: false } } },
]

function chat(random: Random, attempt: number): Order {
  const made = make(random, attempt, CHAT_FEATURES)
  const isHiding = random() < 0.25
  const picture = random() < 0.2
  const hidden = picture ? 20_000 : 0
  const reasoning = (made.feature.reasoning ?? 0) + (isHiding ? 3_000 : 0)
  const used = {
    ...made,
    input: made.input + hidden,
    output: made.output + (isHiding ? 3_000 : 0),
    feature: { ...made.feature, hidden, reasoning },
  }
  const model = isHiding ? 'gpt-5' : 'gpt-4.1'
  const content = picture
    ? [
        { type: 'text', text: made.prompt },
        { type: 'image_url', image_url: { url: 'https://a.test/a.png' } },
      ]
    : made.prompt
  // Without a stream there are no options of one.
  const { stream_options, ...fields } = made.feature.fields as { readonly stream_options?: unknown }
  const options = made.isStream && stream_options !== undefined ? { stream_options } : {}
  const body = { model, ...fields, ...options, messages: [{ role: 'user', content }], stream: made.isStream }
  const usage = {
    prompt_tokens: used.input,
    completion_tokens: used.output,
    total_tokens: used.input + used.output,
  }
  const head = { id: `chatcmpl-${attempt}`, object: 'chat.completion.chunk', model }
  const pieces: Piece[] = made.isStream
    ? [
        ...made.texts.map(
          (text): Piece => ({
            text: sse({ ...head, choices: [{ index: 0, delta: { content: text } }] }),
            is: 'words',
          }),
        ),
        { text: sse({ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }), is: 'finish' },
        { text: `${sse({ ...head, choices: [], usage })}data: [DONE]\n\n`, is: 'usage' },
      ]
    : whole(
        `{"id":"chatcmpl-${attempt}","object":"chat.completion","model":"${model}","choices":[{"index":0,"message":{"role":"assistant","content":"`,
        made.texts.join(''),
        `"},"finish_reason":"stop"}],"usage":${JSON.stringify(usage)}}`,
      )
  const name = `chat of ${model}${picture ? ' with a picture' : ''}`
  return finish(name, used, isHiding ? [1.25, 10] : [2, 8], { path: '/v1/chat/completions', body, pieces })
}

const RESPONSE_FEATURES: readonly [Feature, ...Feature[]] = [
  PLAIN,
  {
    name: 'a search',
    fields: { tools: [{ type: 'web_search' }] },
    hidden: 30_000,
    feePico: SEARCH_PICO,
    searches: 1,
  },
  { name: 'an earlier turn', fields: { previous_response_id: 'resp_earlier1' }, hidden: 30_000 },
  { name: 'a conversation', fields: { conversation: 'conv_earlier1' }, hidden: 20_000 },
  { name: 'a stored prompt', fields: { prompt: { id: 'pmpt_1234567' } }, hidden: 10_000 },
  { name: 'not kept', fields: { store: false } },
  {
    name: 'a file by id',
    fields: { FILE: { type: 'input_file', file_id: 'file-known123' } },
    hidden: 25_000,
  },
  {
    name: 'a file by URL',
    fields: { FILE: { type: 'input_file', file_url: 'https://a.test/b.pdf' } },
    hidden: 25_000,
  },
]

function responses(random: Random, attempt: number): Order {
  const made = make(random, attempt, RESPONSE_FEATURES)
  const { FILE, ...fields } = made.feature.fields as { readonly FILE?: object }
  const text = { type: 'input_text', text: made.prompt }
  const input = FILE === undefined ? made.prompt : [{ role: 'user', content: [text, FILE] }]
  const body = { model: 'gpt-4.1', input, ...fields, stream: made.isStream }
  const usage = {
    input_tokens: made.input,
    output_tokens: made.output,
    total_tokens: made.input + made.output,
  }
  const id = `resp_fuzz${attempt}x`
  const found = Array.from({ length: made.feature.searches ?? 0 }, (_, index) => ({
    id: `ws_${index}`,
    type: 'web_search_call',
    status: 'completed',
    action: { type: 'search', query: 'q' },
  }))
  const done = { id, object: 'response', model: 'gpt-4.1', status: 'completed', output: found, usage }
  const event = (type: string, more: object) => sse({ type, ...more }, type)
  const pieces: Piece[] = made.isStream
    ? [
        { text: event('response.created', { response: { id, status: 'in_progress' } }), is: 'head' },
        ...found.map((item): Piece => ({ text: event('response.output_item.done', { item }), is: 'head' })),
        ...made.texts.map(
          (delta): Piece => ({
            text: event('response.output_text.delta', { delta, item_id: 'msg_1' }),
            is: 'words',
          }),
        ),
        { text: event('response.output_text.done', { item_id: 'msg_1' }), is: 'finish' },
        { text: event('response.completed', { response: done }), is: 'usage' },
      ]
    : whole(
        `{"id":"${id}","object":"response","model":"gpt-4.1","status":"completed","output":[${[...found].map(
          (item) => `${JSON.stringify(item)},`,
        )}{"type":"message","content":[{"type":"output_text","text":"`,
        made.texts.join(''),
        `"}]}],"usage":${JSON.stringify(usage)}}`,
      )
  return finish('a response', made, [2, 8], { path: '/v1/responses', body, pieces })
}

const MESSAGE_FEATURES: readonly [Feature, ...Feature[]] = [
  PLAIN,
  {
    name: 'searches',
    fields: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
    hidden: 45_000,
    feePico: 3n * SEARCH_PICO,
    searches: 3,
  },
  {
    name: 'a document by URL',
    fields: { DOCUMENT: { type: 'url', url: 'https://a.test/b.pdf' } },
    hidden: 9_000,
  },
  {
    name: 'a document by id',
    fields: { DOCUMENT: { type: 'file', file_id: 'file-known123' } },
    hidden: 9_000,
  },
  { name: 'thoughts', fields: { thinking: { type: 'enabled', budget_tokens: 2_000 } }, reasoning: 1_500 },
]

function messages(random: Random, attempt: number): Order {
  const made = make(random, attempt, MESSAGE_FEATURES)
  const { DOCUMENT, ...fields } = made.feature.fields as { readonly DOCUMENT?: object }
  const model = 'claude-sonnet-4-5'
  const text = { type: 'text', text: made.prompt }
  const content = DOCUMENT === undefined ? [text] : [{ type: 'document', source: DOCUMENT }, text]
  const body = {
    model,
    max_tokens: 4_000,
    messages: [{ role: 'user', content }],
    ...fields,
    stream: made.isStream,
  }
  const { searches } = made.feature
  const tools = searches === undefined ? {} : { server_tool_use: { web_search_requests: searches } }
  const usage = { input_tokens: made.input, output_tokens: made.output, ...tools }
  const begun = { id: `msg_${attempt}`, type: 'message', role: 'assistant', model }
  const event = (type: string, more: object) => sse({ type, ...more }, type)
  // Searches are counted into the prompt at the end alone.
  const first = {
    input_tokens: made.input - (made.feature.searches === undefined ? 0 : 40_000),
    output_tokens: 1,
  }
  const pieces: Piece[] = made.isStream
    ? [
        { text: event('message_start', { message: { ...begun, usage: first } }), is: 'head' },
        ...made.texts.map(
          (said): Piece => ({
            text: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: said } }),
            is: 'words',
          }),
        ),
        { text: event('content_block_stop', { index: 0 }), is: 'finish' },
        {
          text:
            event('message_delta', { delta: { stop_reason: 'end_turn' }, usage }) + event('message_stop', {}),
          is: 'usage',
        },
      ]
    : whole(
        `{"id":"msg_${attempt}","type":"message","role":"assistant","model":"${model}","content":[{"type":"text","text":"`,
        made.texts.join(''),
        `"}],"stop_reason":"end_turn","usage":${JSON.stringify(usage)}}`,
      )
  return finish('a message', made, [3, 15], { path: '/anthropic/v1/messages', body, pieces })
}

const GEMINI_FEATURES: readonly [Feature, ...Feature[]] = [
  PLAIN,
  { name: 'two candidates', fields: { generationConfig: { candidateCount: 2 } } },
  { name: 'a film', fields: { FILM: true }, hidden: 100_000 },
]

function gemini(random: Random, attempt: number): Order {
  const made = make(random, attempt, GEMINI_FEATURES)
  const { FILM, ...fields } = made.feature.fields as { readonly FILM?: true }
  const film = FILM === true ? [{ fileData: { fileUri: 'https://a.test/f.mp4', mimeType: 'video/mp4' } }] : []
  const body = { contents: [{ role: 'user', parts: [{ text: made.prompt }, ...film] }], ...fields }
  const usageMetadata = {
    promptTokenCount: made.input,
    candidatesTokenCount: made.output,
    totalTokenCount: made.input + made.output,
  }
  const modelVersion = 'gemini-2.0-flash'
  const said = (text: string, more: object = {}) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
    modelVersion,
  })
  const verb = made.isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  const pieces: Piece[] = made.isStream
    ? [
        ...made.texts.map((text): Piece => ({ text: sse(said(text)), is: 'words' })),
        { text: sse({ ...said('', { finishReason: 'STOP' }), usageMetadata }), is: 'usage' },
      ]
    : whole(
        `{"modelVersion":"${modelVersion}","candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"text":"`,
        made.texts.join(''),
        `"}]}}],"usageMetadata":${JSON.stringify(usageMetadata)}}`,
      )
  const path = `/gemini/v1beta/models/${modelVersion}:${verb}`
  return finish('content of Gemini', made, [0.1, 0.4], { path, body, pieces })
}

function completions(random: Random, attempt: number): Order {
  const features = [PLAIN, { name: 'best of three', fields: { best_of: 3, n: 1 } }] as const
  const made = make(random, attempt, features, 0.5)
  const prompts = Array.from({ length: upTo(random, 5) }, () => made.prompt)
  const prompt = prompts.length === 1 ? made.prompt : prompts
  const model = 'gpt-3.5-turbo-instruct'
  const body = { model, prompt, max_tokens: 200, ...made.feature.fields, stream: made.isStream }
  const input = made.input * prompts.length
  const used = { ...made, input, prompt: prompts.join('') }
  const usage = { prompt_tokens: input, completion_tokens: made.output, total_tokens: input + made.output }
  const head = { id: `cmpl-${attempt}`, object: 'text_completion', model }
  const pieces: Piece[] = made.isStream
    ? [
        ...made.texts.map(
          (text): Piece => ({ text: sse({ ...head, choices: [{ index: 0, text }] }), is: 'words' }),
        ),
        { text: sse({ ...head, choices: [{ index: 0, text: '', finish_reason: 'stop' }] }), is: 'finish' },
        { text: `${sse({ ...head, choices: [], usage })}data: [DONE]\n\n`, is: 'usage' },
      ]
    : whole(
        `{"id":"cmpl-${attempt}","object":"text_completion","model":"${model}","choices":[{"index":0,"finish_reason":"stop","text":"`,
        made.texts.join(''),
        `"}],"usage":${JSON.stringify(usage)}}`,
      )
  return finish('a completion', used, [1.5, 2], { path: '/v1/completions', body, pieces })
}

/** What is not billed by the text that it shows. */
interface Service {
  readonly name: string
  readonly path: string
  readonly body: object | string
  readonly contentType?: string
  readonly answer: object | string
  readonly answerType?: string
  readonly listPico: bigint
}

function services(random: Random, attempt: number): Order {
  const prompt = `attempt-${attempt}-${words(upTo(random, 30))}`
  const inputs = Array.from({ length: upTo(random, 6) }, () => prompt)
  const tokens = 40 * inputs.length
  const seconds = upTo(random, 600)
  const image = { input_tokens: 50, output_tokens: 4_160, total_tokens: 4_210 }
  const form = [
    ['model', 'gpt-4o-transcribe'],
    ['prompt', prompt],
  ].map(([name, value]) => `--xyz\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
  const file = `--xyz\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\ncontent-type: audio/mpeg\r\n\r\nsound\r\n--xyz--\r\n`
  const heard = { input_tokens: seconds * 10, output_tokens: 100, total_tokens: seconds * 10 + 100 }
  const service = pick<Service>(random, [
    {
      name: 'embeddings',
      path: '/v1/embeddings',
      body: { model: 'text-embedding-3-small', input: inputs },
      answer: {
        object: 'list',
        model: 'text-embedding-3-small',
        data: [],
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      },
      listPico: BigInt(tokens) * perMillion(0.02),
    },
    {
      name: 'a picture',
      path: '/v1/images/generations',
      body: { model: 'gpt-image-1', prompt, n: 1, size: '1024x1024' },
      answer: {
        created: 1,
        data: [{ b64_json: 'AAAA' }],
        usage: { ...image, input_tokens_details: { text_tokens: 50, image_tokens: 0 } },
      },
      listPico: 50n * perMillion(5) + 4_160n * perMillion(40),
    },
    {
      name: 'speech',
      path: '/v1/audio/speech',
      body: { model: 'tts-1', input: prompt, voice: 'alloy' },
      answer: 'sound of words',
      answerType: 'audio/mpeg',
      listPico: BigInt(prompt.length) * 15_000_000n,
    },
    {
      name: 'a transcript',
      path: '/v1/audio/transcriptions',
      body: form.join('') + file,
      contentType: 'multipart/form-data; boundary=xyz',
      answer: {
        text: 'x',
        usage: {
          type: 'tokens',
          ...heard,
          input_token_details: { text_tokens: 0, audio_tokens: seconds * 10 },
        },
      },
      listPico: BigInt(seconds * 10) * perMillion(6) + 100n * perMillion(10),
    },
    {
      name: 'a ranking',
      path: '/cohere/v2/rerank',
      body: { model: 'rerank-v3.5', query: prompt, documents: inputs },
      answer: { id: 'r', results: [], meta: { billed_units: { search_units: 1 } } },
      listPico: 2_000_000_000n,
    },
  ])
  const {
    name,
    path,
    body,
    contentType = 'application/json',
    answer,
    answerType = 'application/json',
    listPico,
  } = service
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  const half = text.length >> 1
  return {
    name,
    path,
    contentType,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    answerType,
    pieces: [
      { text: text.slice(0, half), is: 'words' },
      { text: text.slice(half), is: 'usage' },
    ],
    listPico,
    inPico: 0n,
    outPico: 0n,
    promptWords: 0,
    hiddenPico: 0n,
  }
}

/** One order of any kind, the same for the same numbers. */
export function anOrder(random: Random, attempt: number): Order {
  const kinds = [chat, responses, messages, gemini, completions, services] as const
  return pick(random, kinds)(random, attempt)
}
