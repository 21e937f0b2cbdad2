import type { Observation } from '../../../call/observation.ts'
import type { Dialect, RequestContext } from '../../../providers/dialect.ts'
import { findMembers, mayContainUsage } from '../../../providers/wires/prefilter.ts'
import { forcesCall } from '../called-tools.ts'
import { type DeliveredSample, estimateInput } from '../estimate.ts'
import { showsItsPrompt } from '../shown-prompt.ts'
import { kindOfAnswer, kindOfPrompt, type LearnedKind, type LearnedRatios } from './learned-ratios.ts'

const TOOLS = findMembers(['tools', 'functions', 'toolConfig'])

/** A call that has reported what it used, with what an estimate of it is made from. */
export interface MeasuredCall {
  readonly context: {
    readonly call: { readonly clientId: string }
    readonly dialect: Dialect | null
    readonly request: RequestContext
    readonly requestBody: Buffer | null
    readonly requestBytes: number
  }
  readonly observed: Observation
  readonly model: string
  readonly sample: DeliveredSample
  /** More may have been generated than was delivered. */
  readonly hidesOutput: boolean
}

/** The kind of the prompt in a request whose bytes determine it. */
export function promptKind(requestBody: Buffer | null, estimated: number): LearnedKind {
  return kindOfPrompt(namesTools(requestBody), estimated)
}

export function answerKind(requestBody: Buffer | null, estimated: number): LearnedKind {
  return kindOfAnswer(namesTools(requestBody), estimated)
}

function namesTools(requestBody: Buffer | null): boolean {
  return requestBody !== null && mayContainUsage(TOOLS, requestBody)
}

/**
 * Tells `ratios` how far an estimate of the call is off. Only of what its bytes determine: a prompt to which the provider adds,
 * or an answer of which a part stays hidden, says nothing of the tokenizer.
 */
export async function measureCall(ratios: LearnedRatios, measured: MeasuredCall): Promise<void> {
  const { context, observed, model, sample, hidesOutput } = measured
  const { call, dialect, request, requestBody, requestBytes } = context
  const { usage, parts } = observed
  if (dialect === null || dialect.countsTokens === false || dialect.responseUse === 'fetched') return
  if (observed.failed || parts !== null || usage.inputTokens === null) return
  if (!showsItsPrompt(requestBody, [request.model, observed.model])) return
  const { clientId } = call
  const prompt = await estimateInput(clientId, dialect, requestBody, requestBytes, request.model)
  if (prompt !== null)
    ratios.add({ clientId, model, kind: promptKind(requestBody, prompt) }, prompt, usage.inputTokens)
  const hasHidden = hidesOutput || (usage.audioOutputTokens ?? 0) + (usage.imageOutputTokens ?? 0) > 0
  if (hasHidden || usage.outputTokens === null || dialect.generatesNothing === true) return
  const answer = await sample.estimateOutput(request.model, forcesCall(requestBody))
  if (answer >= SHORTEST_ANSWER)
    ratios.add({ clientId, model, kind: answerKind(requestBody, answer) }, answer, usage.outputTokens)
}

/** Of a word or two most tokens are what ends an answer. */
const SHORTEST_ANSWER = 8
