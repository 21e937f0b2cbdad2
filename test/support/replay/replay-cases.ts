import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { NO_USAGE, type TokenUsage, type UsageSource } from '../../../src/call/usage.ts'
import type { Provider } from '../../../src/providers/registry.ts'
import { anthropicResponses } from '../../fixtures/anthropic.ts'
import { bedrockResponses } from '../../fixtures/bedrock.ts'
import { googleResponses } from '../../fixtures/google.ts'
import { googleToolResponses } from '../../fixtures/google-tools.ts'
import { groqToolResponses } from '../../fixtures/groq-tools.ts'
import type { MadeResponse } from '../../fixtures/made-response.ts'
import { nativeResponses } from '../../fixtures/native.ts'
import { usageOtherwiseNamed, usageTakenBack } from '../../fixtures/odd-usage.ts'
import { openAiChatResponses } from '../../fixtures/openai-chat.ts'
import { openAiMediaResponses } from '../../fixtures/openai-media.ts'
import { openAiResponsesResponses } from '../../fixtures/openai-responses.ts'
import { responsesToolResponses } from '../../fixtures/responses-tools.ts'
import { serverToolResponses } from '../../fixtures/server-tools.ts'
import { loadRecordings, type Recording } from '../../providers/recordings/recordings.ts'

const FOLDER = new URL('../../../../shared/recordings/', import.meta.url)

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
  readonly expected: ReplayExpectation
}

export interface ReplayExpectation {
  /** `null`: nothing is said about it. */
  readonly model: string | null
  readonly usage: TokenUsage
  /** Which words for the counts' origin are right. */
  readonly sources: readonly UsageSource[]
}

const rawShape = z.object({
  request_body: z.record(z.string(), z.unknown()).nullish(),
  chunk_lengths: z.array(z.number()).nullish(),
})

/** Headers that frame the message: the replaying server writes its own. */
const FRAMING = new Set(['transfer-encoding', 'content-length', 'connection', 'keep-alive'])

/** Counts that a recording's expectation leaves out although the provider's own usage object has them. */
const REPORTED_BEYOND_EXPECTATION: Readonly<Record<string, Partial<TokenUsage>>> = {
  'openai-audio-transcriptions-stream-02-crlf-usage-on-content-chunk': { audioInputTokens: 37 },
  'azure-openai-realtime-stream-01-cached-audio-in': { cacheReadImageTokens: 0 },
  'openai-realtime-stream-02-cached': { cacheReadImageTokens: 0 },
  'vertex-generateContent-sync-03-cached-reasoning': { cacheReadImageTokens: 1223 },
}

/** The recordings beside the project; none where that folder does not exist. */
export function recordedCases(): readonly ReplayCase[] {
  return existsSync(FOLDER) ? loadRecordings().map(recordedCase) : []
}

function recordedCase(recording: Recording): ReplayCase {
  const { id, provider, meta } = recording
  const folder = new URL(`${id}/`, FOLDER)
  const raw = rawShape.parse(JSON.parse(readFileSync(new URL('meta.json', folder), 'utf8')))
  const { expected } = meta
  return {
    id,
    provider,
    method: meta.method,
    pathAndQuery: meta.path,
    request: meta.method === 'GET' ? null : requestOf(raw.request_body ?? {}, meta),
    status: meta.status,
    headers: withoutFraming(meta.headers),
    body: readFileSync(new URL('response.body', folder)),
    writeBytes: raw.chunk_lengths ?? null,
    webSocket: meta.wire === 'websocket-jsonl',
    expected: {
      model: expected.model,
      usage: {
        inputTokens: expected.input_tokens,
        outputTokens: expected.output_tokens,
        cacheReadTokens: expected.cached_input_tokens,
        cacheWriteTokens: expected.cache_write_tokens,
        cacheWrite5mTokens: expected.cache_write_5m_tokens,
        cacheWrite1hTokens: expected.cache_write_1h_tokens,
        reasoningTokens: expected.reasoning_tokens,
        audioInputTokens: expected.input_audio_tokens,
        audioOutputTokens: expected.output_audio_tokens,
        imageInputTokens: expected.input_image_tokens,
        imageOutputTokens: expected.output_image_tokens,
        cacheReadAudioTokens: expected.cached_audio_tokens,
        cacheWrite12hTokens: null,
        cacheReadImageTokens: null,
        videoInputTokens: null,
        ...REPORTED_BEYOND_EXPECTATION[id],
      },
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

/** The responses that the project's own fixtures describe. */
export function madeCases(): readonly ReplayCase[] {
  const responses = [
    ...openAiChatResponses,
    ...openAiResponsesResponses,
    ...openAiMediaResponses,
    ...anthropicResponses,
    ...googleResponses,
    ...bedrockResponses,
    ...nativeResponses,
    ...usageTakenBack,
    ...usageOtherwiseNamed,
    ...responsesToolResponses,
    ...serverToolResponses,
    ...googleToolResponses,
    ...groqToolResponses,
  ]
  return responses.map(madeCase)
}

function madeCase(made: MadeResponse, number: number): ReplayCase {
  const { method = 'POST', path, provider, status = 200, expected, oddity } = made
  const source = expected.usageSource ?? (expected.usage === undefined ? 'none' : 'reported')
  return {
    id: `${provider} ${path}: ${oddity}`,
    provider,
    method,
    pathAndQuery: path,
    request: method === 'GET' ? null : {},
    status,
    headers: withoutFraming(made.headers ?? {}),
    body: withOwnResponseId(made, number),
    writeBytes: null,
    webSocket: false,
    expected: {
      model: expected.model ?? null,
      usage: { ...NO_USAGE, ...expected.usage },
      // What a whole answer did not report is estimated where it has text.
      sources: source === 'none' || source === 'partial' ? [source, 'estimated'] : [source],
    },
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
