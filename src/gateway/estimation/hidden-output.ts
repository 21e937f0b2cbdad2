import type { OpenCall } from '../../call/call-record.ts'
import type { Dialect, RequestContext, UsageReader } from '../../providers/dialect.ts'
import type { DeliveredSample } from './estimate.ts'
import { mayGenerateUnseen } from './unseen-output.ts'

const NO_BYTES = Buffer.alloc(0)

/** A call, as far as it matters whether its answer hides something. */
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
 * Whether the delivered part may show less than was generated, so that only the upstream can count the
 * tokens.
 */
export function isCountedUpstreamOnly(asking: AskingCall, answer: AnswerSoFar): boolean {
  const { call, dialect, request, requestBody } = asking
  const { status, contentType, reader, sample } = answer
  if (dialect === null) return false
  if (dialect.billsUnits === true) return reportsMore(answer)
  if (dialect.generatesNothing === true) return false
  // Before the answer comes it may. A refusal, or an answer that cannot be read, has nothing to wait for.
  if (status !== null && (status < 200 || status >= 300 || reader === null)) return false
  if (reportsNoTokens(dialect)) return contentType.startsWith('text/event-stream')
  const observed = reader?.peek()
  // Gemini's running counts have the thoughts in them.
  const runs = dialect.runningUsageHasThoughts === true && (observed?.usage.outputTokens ?? null) !== null
  if (runs || observed?.usageSource === 'reported') return false
  return mayGenerateUnseen({
    provider: call.provider,
    models: [request.model, observed?.model ?? null],
    requestBody,
    answerHead: sample?.kept().head ?? NO_BYTES,
  })
}

/**
 * Whether there is more to learn of a call that is not billed by tokens. It is billed once the request is
 * taken, even if its client has left. Sound and pictures report nothing themselves, and what the request says
 * is known.
 */
function reportsMore({ status, contentType, reader }: AnswerSoFar): boolean {
  if (status === null) return true
  return status >= 200 && status < 300 && reader !== null && !/^(?:audio|image|video)\//.test(contentType)
}
