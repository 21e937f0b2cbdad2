import type { Dialect, RequestContext, UsageReader } from '../../providers/dialect.ts'
import type { DeliveredSample } from './estimate.ts'
import { mayGenerateUnseen } from './unseen-output.ts'

const NO_BYTES = Buffer.alloc(0)

/** A call and its answer so far, as far as it matters whether something of it is hidden. */
export interface AnswerSoFar {
  readonly provider: string
  /** `null`: the path is known to be free. */
  readonly dialect: Dialect | null
  readonly request: RequestContext
  readonly requestBody: Buffer | null
  /** `null`: there is no answer yet. */
  readonly status: number | null
  /** Lower case. */
  readonly contentType: string
  /** `null`: there is no answer yet, or it cannot be read. */
  readonly reader: UsageReader | null
  readonly sample: DeliveredSample | null
}

/** Whether the answers of `dialect` tell no tokens, so that none are to be estimated. */
export function reportsNoTokens(dialect: Dialect): boolean {
  return dialect.countsTokens === false
}

/** Whether tokens may have been generated that what was delivered does not show, and that only the upstream can tell. */
export function isCountedUpstreamOnly(answer: AnswerSoFar): boolean {
  const { provider, dialect, request, requestBody, status, contentType, reader, sample } = answer
  if (dialect === null) return false
  if (dialect.billsUnits === true) return reportsMore(answer)
  if (dialect.generatesNothing === true) return false
  // No answer yet: nobody knows. A refusal, or one that cannot be read: there is nothing to wait for.
  if (status !== null && (status < 200 || status >= 300 || reader === null)) return false
  if (reportsNoTokens(dialect)) return contentType.startsWith('text/event-stream')
  const observed = reader?.peek()
  // Gemini's running counts have the thoughts in them.
  const runs = dialect.runningUsageHasThoughts === true && (observed?.usage.outputTokens ?? null) !== null
  if (runs || observed?.usageSource === 'reported') return false
  return mayGenerateUnseen({
    provider,
    models: [request.model, observed?.model ?? null],
    requestBody,
    answerHead: sample?.kept().head ?? NO_BYTES,
  })
}

/**
 * Whether there is more to learn of what is billed by other than tokens: it is once the request is taken, whoever waits
 * for the answer. Sound and pictures themselves tell nothing, and what the request told is known.
 */
function reportsMore({ status, contentType, reader }: AnswerSoFar): boolean {
  if (status === null) return true
  return status >= 200 && status < 300 && reader !== null && !/^(?:audio|image|video)\//.test(contentType)
}
