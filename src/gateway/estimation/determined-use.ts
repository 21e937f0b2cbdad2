import type { OpenCall } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'
import type { Dialect, RequestContext, UsageReader } from '../../providers/dialect.ts'
import type { DeliveredSample } from './estimate.ts'
import { showsItsPrompt } from './shown-prompt.ts'
import { mayGenerateUnseen } from './unseen-output.ts'

const NO_BYTES = Buffer.alloc(0)

/** A call, as far as it matters what its bytes determine. */
export interface AskingCall {
  readonly call: Pick<OpenCall, 'provider'>
  /** `null`: the path is known to be free. */
  readonly dialect: Dialect | null
  readonly request: RequestContext
  readonly requestBody: Buffer | null
}

/** What has come of its answer. */
export interface AnswerSoFar {
  /** `null`: there is no answer yet. */
  readonly status: number | null
  /** Lower case. */
  readonly contentType: string
  /** `null`: there is no answer yet, or it cannot be read. */
  readonly reader: UsageReader | null
  readonly sample: DeliveredSample | null
}

/** Whether the answers of `dialect` report no tokens, so that none are estimated. */
export function reportsNoTokens(dialect: Dialect): boolean {
  return dialect.countsTokens === false
}

/**
 * Whether only the upstream can tell what the call uses: the request's bytes do not determine the prompt, or the
 * answer's bytes not the output. Such a call is read to its end although its client has left. When in doubt, yes: that
 * costs at most what the client ordered.
 */
export function isCountedUpstreamOnly(asking: AskingCall, answer: AnswerSoFar): boolean {
  const { dialect } = asking
  const { status, reader } = answer
  // Free: there is nothing to count.
  if (dialect === null || dialect.isFree === true) return false
  if (dialect.billsUnits === true) return reportsMore(answer)
  // A refusal, or an answer that cannot be read, has nothing to wait for.
  if (status !== null && (status < 200 || status >= 300 || reader === null)) return false
  if (reportsNoTokens(dialect)) return true
  const observed = reader?.peek()
  // Even behind usage: a tool that the provider runs may go on, and more be reported.
  if (!showsItsPrompt(asking.requestBody, modelsOf(asking, observed))) return true
  if (dialect.generatesNothing === true || observed?.usageSource === 'reported') return false
  return !streams(asking, answer) || mayHideOutput(asking, answer)
}

/** Whether more may have been generated than the answer shows. */
export function mayHideOutput(asking: AskingCall, { reader, sample }: AnswerSoFar): boolean {
  const { call, dialect, requestBody } = asking
  if (dialect === null || dialect.generatesNothing === true) return false
  const observed = reader?.peek()
  // Gemini's running counts have the thoughts in them.
  const runs = dialect.runningUsageHasThoughts === true && (observed?.usage.outputTokens ?? null) !== null
  if (runs) return false
  const models = modelsOf(asking, observed)
  const answerHead = sample?.kept().head ?? NO_BYTES
  return mayGenerateUnseen({ provider: call.provider, models, requestBody, answerHead })
}

/** As the request and the answer name it. */
function modelsOf({ request }: AskingCall, observed: Observation | undefined): readonly (string | null)[] {
  return [request.model, observed?.model ?? null]
}

/** Whether the answer passes as it is generated, or was asked to: of any other, what was generated is not delivered. */
function streams({ dialect, request }: AskingCall, { status, contentType }: AnswerSoFar): boolean {
  if (status !== null) return STREAMED.test(contentType) || /stream/i.test(request.path)
  return request.stream ?? (dialect?.streamsByDefault === true || /stream/i.test(request.path))
}

/** Media types of answers in events or lines. */
const STREAMED = /stream|ndjson|jsonl|lines/

/**
 * Whether there is more to learn of a call that is not billed by tokens. It is billed once the request is
 * taken, even if its client has left. Sound and pictures report nothing themselves, and what the request says
 * is known.
 */
function reportsMore({ status, contentType, reader }: AnswerSoFar): boolean {
  if (status === null) return true
  return status >= 200 && status < 300 && reader !== null && !/^(?:audio|image|video)\//.test(contentType)
}
