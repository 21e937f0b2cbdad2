import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'

/** An upstream with one account, whose objects all who have its credential see: OpenAI's, Anthropic's and Google's. */
export interface ObjectUpstream {
  readonly url: string
  /** Everything that it keeps, by id. */
  readonly objects: Map<string, StoredObject>
  /** Methods and targets it was asked for. */
  readonly asked: string[]
  /** Batches and responses in the background have ended from now on. */
  endJobs(): void
  /** Lists are compressed, whatever was asked for. */
  compress(on: boolean): void
  /** Makes an object that no client of the gateway made. */
  put(collection: string, document?: Record<string, unknown>): StoredObject
  close(): Promise<void>
}

export interface StoredObject {
  readonly id: string
  readonly collection: string
  readonly document: Record<string, unknown>
}

const PREFIX: Readonly<Record<string, string>> = {
  files: 'file-',
  batches: 'batch_',
  responses: 'resp_',
  vector_stores: 'vs_',
  conversations: 'conv_',
  'messages/batches': 'msgbatch_',
  'fine_tuning/jobs': 'ftjob-',
  videos: 'video_',
  containers: 'cntr_',
  evals: 'eval_',
  uploads: 'upload_',
  assistants: 'asst_',
  'chat/completions': 'chatcmpl-',
}
const COLLECTIONS = Object.keys(PREFIX)
const GOOGLES = ['files', 'batches', 'cachedContents', 'tunedModels']

export async function startObjectUpstream(): Promise<ObjectUpstream> {
  const objects = new Map<string, StoredObject>()
  const asked: string[] = []
  let made = 0
  let ended = false
  let compressed = false

  const put = (collection: string, fields: Record<string, unknown> = {}, google = false): StoredObject => {
    made += 1
    const bare = `${google ? '' : (PREFIX[collection] ?? 'obj_')}${collection.replace('/', '')}Nr${made}xyz`
    const document = google
      ? { name: `${collection}/${bare}`, ...fields }
      : { id: bare, object: collection, ...fields }
    const stored = { id: bare, collection: google ? `google/${collection}` : collection, document }
    objects.set(bare, stored)
    return stored
  }

  const answer = (response: ServerResponse, status: number, document: unknown) => {
    const text = Buffer.from(JSON.stringify(document, null, 1))
    const body = compressed ? gzipSync(text) : text
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(compressed ? { 'content-encoding': 'gzip' } : {}),
      'content-length': body.length,
    })
    response.end(body)
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const body = await buffer(request)
    const url = new URL(request.url ?? '/', 'http://upstream')
    const path = decodeURIComponent(url.pathname).replace(/\/{2,}/g, '/')
    if (path === '/v1/models') return answer(response, 200, { object: 'list', data: [] })
    asked.push(`${request.method} ${request.url}`)
    if (path.includes('/v1beta/')) return google(request, response, path, url, body)
    const rest = path.replace(/^\/v1\//i, '').toLowerCase() === '' ? '' : path.replace(/^\/v1\//i, '')
    const collection = COLLECTIONS.find(
      (name) => rest.toLowerCase() === name || rest.toLowerCase().startsWith(`${name}/`),
    )
    if (url.searchParams.get('as') === 'stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
      return response.end(
        `data: ${JSON.stringify({ id: 'chatcmpl-1', model: 'gpt-4o-mini', choices: [], usage })}\n\ndata: [DONE]\n\n`,
      )
    }
    if (path === '/v1/messages') return message(response, body)
    if (collection === undefined) return answer(response, 200, { id: 'chatcmpl-1', choices: [] })
    const [id = '', ...sub] = rest.slice(collection.length + 1).split('/')
    if (request.method === 'POST' && id === '') return create(response, collection, body)
    if (id === '' && (request.method === 'GET' || url.searchParams.has('any'))) {
      return list(response, collection, url)
    }
    const found = [...objects.values()].find((object) => object.id.toLowerCase() === id.toLowerCase())
    if (found === undefined) return answer(response, 404, { error: { message: 'No such object' } })
    if (request.method === 'DELETE') {
      objects.delete(found.id)
      return answer(response, 200, { id: found.id, deleted: true })
    }
    if (sub[0] === 'content') return response.end(`content of ${found.id}`)
    if (sub[0] === 'results') {
      response.writeHead(200, { 'content-type': 'application/x-jsonl' })
      return response.end(
        `${JSON.stringify({
          custom_id: 'a',
          result: {
            type: 'succeeded',
            message: { model: 'claude-haiku-4-5', usage: { input_tokens: 100, output_tokens: 50 } },
          },
        })}\n`,
      )
    }
    return answer(response, 200, ended ? { ...found.document, ...endOf(found) } : found.document)
  }

  const create = (response: ServerResponse, collection: string, body: Buffer): unknown => {
    const asJson = parse(body)
    // As OpenAI does, which tells a usage of zeros until the batch has ended.
    const running = collection === 'batches' ? { status: 'validating', usage: usageOf(0, 0) } : {}
    const background = asJson.background === true ? { status: 'queued', background: true } : {}
    const used =
      collection === 'responses' && asJson.background !== true
        ? { status: 'completed', model: 'gpt-4o-mini', usage: usageOf(10, 5) }
        : {}
    const { document, id } = put(collection, { ...running, ...background, ...used })
    if (collection === 'responses' && asJson.stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(
        `event: response.created\ndata: ${JSON.stringify({ type: 'response.created', response: { id, status: 'in_progress' } })}\n\n`,
      )
      return response.end(
        `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: document })}\n\n`,
      )
    }
    return answer(response, 200, document)
  }

  /** One of Anthropic's, whose tools ran in a container that only the answer names. */
  const message = (response: ServerResponse, body: Buffer): unknown => {
    made += 1
    const ran = body.includes('code_execution')
      ? { container: { id: `container_Nr${made}xyz`, expires_at: 'x' } }
      : {}
    const usage = { input_tokens: 3, output_tokens: 2 }
    const start = { id: `msg_${made}`, type: 'message', model: 'claude-haiku-4-5', usage }
    if (parse(body).stream !== true) return answer(response, 200, { ...start, ...ran })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of [
      { type: 'message_start', message: start },
      {
        type: 'content_block_delta',
        delta: { type: 'text_delta', text: '{"container":{"id":"container_said"}}' },
      },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', ...ran }, usage },
      { type: 'message_stop' },
    ]) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    }
    return response.end()
  }

  const list = (response: ServerResponse, collection: string, url: URL) => {
    const all = [...objects.values()].filter((object) => object.collection === collection)
    const after = url.searchParams.get('after') ?? url.searchParams.get('after_id')
    const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
    const limit = Number(url.searchParams.get('limit') ?? 100)
    const page = all.slice(from, from + limit)
    answer(response, 200, {
      object: 'list',
      data: page.map(({ document }) => document),
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
      has_more: from + limit < all.length,
    })
  }

  const google = (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    url: URL,
    _body: Buffer,
  ): unknown => {
    const rest = path.slice(path.indexOf('/v1beta/') + 8)
    if (rest.endsWith(':batchGenerateContent')) {
      return answer(
        response,
        200,
        put('batches', { metadata: { state: 'BATCH_STATE_PENDING' } }, true).document,
      )
    }
    if (/:(?:generateContent|countTokens|predictLongRunning|fetchPredictOperation)$/.test(rest)) {
      return answer(response, 200, {
        candidates: [{ content: { parts: [{ text: 'Hi' }] } }],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 },
      })
    }
    const collection = GOOGLES.find((name) => rest === name || rest.startsWith(`${name}/`)) ?? ''
    const id = rest.slice(collection.length + 1).replace(/:\w+$/, '')
    if (request.method === 'POST' && id === '') {
      const { document } = put(collection, {}, true)
      return answer(response, 200, path.startsWith('/upload/') ? { file: document } : document)
    }
    if (request.method === 'GET' && id === '') {
      const all = [...objects.values()].filter((object) => object.collection === `google/${collection}`)
      const from = Number(url.searchParams.get('pageToken') ?? 0)
      const size = Number(url.searchParams.get('pageSize') ?? 100)
      return answer(response, 200, {
        [collection]: all.slice(from, from + size).map(({ document }) => document),
        ...(from + size < all.length ? { nextPageToken: String(from + size) } : {}),
      })
    }
    const found = objects.get(id)
    if (found === undefined) return answer(response, 404, { error: { code: 404, status: 'NOT_FOUND' } })
    if (request.method === 'DELETE') objects.delete(id)
    return answer(response, 200, request.method === 'DELETE' ? {} : found.document)
  }

  const server: Server = createServer((request, response) => {
    void Promise.resolve(handle(request, response)).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    asked,
    endJobs: () => {
      ended = true
    },
    compress: (on) => {
      compressed = on
    },
    put: (collection, document) => put(collection, document),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function endOf({ collection, document }: StoredObject): Record<string, unknown> {
  if (collection === 'batches') {
    return {
      status: 'completed',
      model: 'gpt-4o-mini',
      output_file_id: `file-outputOf${String(document.id)}1`,
      usage: usageOf(1_000, 500),
    }
  }
  if (collection === 'responses' && document.background === true) {
    return { status: 'completed', model: 'gpt-4o-mini', usage: usageOf(100, 50) }
  }
  if (collection === 'fine_tuning/jobs') {
    return { status: 'succeeded', fine_tuned_model: `ft:gpt-4o-mini:acme::${String(document.id).slice(-6)}` }
  }
  if (collection === 'messages/batches') return { processing_status: 'ended' }
  return collection === 'videos' ? { status: 'completed' } : {}
}

function usageOf(input: number, output: number) {
  return { input_tokens: input, output_tokens: output, total_tokens: input + output }
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(body.toString('utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}
