import { NO_USAGE, type TokenUsage, type UsageSource } from '../../../src/call/usage.ts'
import type { Provider } from '../../../src/providers/registry.ts'
import type { MadeResponse, MadeSession } from '../../fixtures/made-response.ts'
import { madeResponses } from '../../fixtures/made-responses.ts'
import { madeSessions } from '../../fixtures/sessions.ts'
import { dialectOf } from '../../providers/recordings/dialect-of.ts'
import { expectedUsage, loadRecordings, type Recording } from '../../providers/recordings/recordings.ts'

/** One exchange to be played through the gateway: what the client sends, what the upstream answers, what is recorded of it. */
export interface ReplayCase {
  readonly id: string
  readonly provider: Provider
  readonly method: string
  readonly pathAndQuery: string
  /** `null`: the request has no body. */
  readonly request: Readonly<Record<string, unknown>> | null
  readonly status: number
  /** As the upstream sends them, without those that frame the message. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Buffer
  /** Bytes of the upstream's writes, one after the other; `null`: all at once. */
  readonly writeBytes: readonly number[] | null
  /** One message a line, over a WebSocket. */
  readonly webSocket: boolean
  /** The client's first message, which the upstream waits for; `null`: none. */
  readonly said: string | null
  /** The answer is a page of objects, of which a client gets its own. */
  readonly listsObjects: boolean
  readonly expected: ReplayExpectation
}

export interface ReplayExpectation {
  /** `null`: nothing is said about it. */
  readonly model: string | null
  readonly usage: TokenUsage
  /** Which words for the counts' origin are right. */
  readonly sources: readonly UsageSource[]
}

/** Headers that frame the message: the replaying server writes its own. */
const FRAMING = new Set(['transfer-encoding', 'content-length', 'connection', 'keep-alive'])

/** The recordings in `RECORDINGS_DIR`; none where that is not set. */
export function recordedCases(): readonly ReplayCase[] {
  return loadRecordings().map(recordedCase)
}

function recordedCase(recording: Recording): ReplayCase {
  const { id, provider, meta, sent } = recording
  const { expected } = meta
  return {
    id,
    provider,
    method: meta.method,
    pathAndQuery: meta.path,
    request: meta.method === 'GET' ? null : requestOf(meta.request_body ?? {}, meta),
    status: meta.status,
    headers: withoutFraming(meta.headers),
    body: sent,
    writeBytes: meta.chunk_lengths ?? null,
    webSocket: meta.wire === 'websocket-jsonl',
    said: null,
    listsObjects: false,
    expected: {
      model: expected.model,
      usage: expectedUsage(recording),
      sources: expected.usage_present ? ['reported', 'invalid'] : ['none', 'estimated'],
    },
  }
}

/** What the client asked for, as far as it was kept; model and stream at least, where they are known. */
function requestOf(
  recorded: Readonly<Record<string, unknown>>,
  { request_model: model, request_stream: stream }: Recording['meta'],
): Readonly<Record<string, unknown>> {
  const { _trimmed, ...body } = recorded
  return {
    // The provider's model in the path is no member of the body.
    ...(_trimmed === true && typeof model === 'string' && !('model' in body) ? { model } : {}),
    ...(_trimmed === true && typeof stream === 'boolean' && !('stream' in body) ? { stream } : {}),
    ...body,
  }
}

/** What the project's own fixtures describe. A tool is named by its call and its upstream: `metered-tools` plays those. */
export function madeCases(): readonly ReplayCase[] {
  const responses = madeResponses.filter(({ provider }) => provider !== 'mcp')
  return [...responses.map(madeCase), ...madeSessions.map(madeSessionCase)]
}

function madeCase(made: MadeResponse, number: number): ReplayCase {
  const { method = 'POST', path, provider, status = 200, expected, oddity } = made
  return {
    id: `${provider} ${path}: ${oddity}`,
    provider,
    method,
    pathAndQuery: path,
    request: method === 'GET' ? null : (made.request ?? askedFor(made)),
    status,
    headers: withoutFraming(made.headers ?? {}),
    body: withOwnResponseId(made, number),
    writeBytes: null,
    webSocket: false,
    said: null,
    listsObjects: dialectOf(provider, method, path)?.name.endsWith('-list') === true,
    expected: expectationOf(expected),
  }
}

/** A client of a stream asks for its usage, where that is to be asked for. */
function askedFor({ provider, path, headers }: MadeResponse): ReplayCase['request'] {
  const isStream = `${headers?.['content-type']}`.startsWith('text/event-stream')
  const asks = isStream && dialectOf(provider, 'POST', path)?.takesIncludeUsage === true
  return asks ? { stream: true, stream_options: { include_usage: true } } : {}
}

function madeSessionCase({ provider, path, oddity, said, messages, expected }: MadeSession): ReplayCase {
  return {
    id: `${provider} ${path}: ${oddity}`,
    provider,
    method: 'GET',
    pathAndQuery: path,
    request: null,
    status: 101,
    headers: {},
    body: Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    writeBytes: null,
    webSocket: true,
    said: JSON.stringify(said),
    listsObjects: false,
    expected: expectationOf(expected),
  }
}

function expectationOf({ model, usage, usageSource }: MadeResponse['expected']): ReplayExpectation {
  const source = usageSource ?? (usage === undefined ? 'none' : 'reported')
  return {
    model: model ?? null,
    usage: { ...NO_USAGE, ...usage },
    // What a whole answer did not report is estimated where it has text.
    sources: source === 'none' || source === 'partial' ? [source, 'estimated'] : [source],
  }
}

/** The same response is counted once, whichever client fetches it: fixtures that share an id would be one. */
function withOwnResponseId({ body, expected }: MadeResponse, number: number): Buffer {
  const { responseId = null } = expected
  const bytes = Buffer.from(body)
  if (responseId === null) return bytes
  return Buffer.from(bytes.toString('latin1').replaceAll(responseId, `${responseId}-${number}`), 'latin1')
}

function withoutFraming(headers: MadeResponse['headers'] & object): ReplayCase['headers'] {
  const kept: Record<string, string | readonly string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !FRAMING.has(name.toLowerCase())) kept[name.toLowerCase()] = value
  }
  return kept
}
