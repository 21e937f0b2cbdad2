import type { AnswerHeaders } from '#http-client/answer-handler.ts'
import { attemptIdOf, type JobUse } from '../../../call/call-record.ts'
import { useOf } from '../../../call/record-fields.ts'
import type { AttemptState } from '../../recording/attempt-state.ts'
import type { CallContext, CallResult } from '../../recording/call-result.ts'
import { finalizeCall, finalizeWithEstimate, needsEstimate } from '../../recording/finalize-call.ts'
import { ObservedAnswer } from '../../recording/observed-answer.ts'
import type { HoldableDelivery } from '../../recording/snapshot-saver.ts'
import { endpointContextOf } from '../../routing/route.ts'
import type { CallServices } from '../exchange.ts'

/** Nothing of it is delivered, and no snapshot of it is kept. */
const NOWHERE: HoldableDelivery = {
  isHolding: false,
  clientGone: true,
  holdsUpTo: () => true,
  hold: () => {},
  release: () => {},
}

/** An answer that was given up, as far as it had come. */
interface GivenUp {
  readonly state: AttemptState
  /** `null`: it had not begun. */
  readonly status: number | null
  readonly headers: AnswerHeaders
  readonly held: readonly Buffer[]
}

/**
 * What an upstream may bill for a request that was given up: as for a call whose client leaves at that moment, its prompt
 * and what it may have generated unseen, at the prices of that upstream. `null`: nothing.
 */
export async function useOfGivenUp(
  context: CallContext,
  services: CallServices,
  { state, status, headers, held }: GivenUp,
): Promise<JobUse | null> {
  const answer = new ObservedAnswer(context, services, NOWHERE)
  if (status !== null) {
    answer.begin(status, headers)
    for (const chunk of held) answer.read(chunk)
  }
  answer.cut()
  answer.stop()
  if (answer.isCoded) await new Promise<void>((decoded) => answer.finishDecoding(decoded))
  const { call, client, dialect } = context
  const result: CallResult = {
    call,
    client,
    endpoint: endpointContextOf(dialect),
    status,
    outcome: 'client_aborted',
    observation: answer.end(false, performance.now() - state.startedAt),
    latencyUs: null,
    ttftUs: null,
    estimates: answer.estimates,
  }
  const record = await finalize(result, services)
  if (record.costPico === '0' && record.usageSource === 'none') return null
  const { upstream, provider, requestedModel } = call
  const attempt = { upstream, provider, requestedModel }
  return { ...useOf(record), id: attemptIdOf(call.callId, state.number), attempt }
}

async function finalize(result: CallResult, { pricing, observer }: CallServices) {
  if (!needsEstimate(result)) return finalizeCall(result, pricing)
  try {
    return await finalizeWithEstimate(result, pricing)
  } catch (error) {
    observer.readingFailed(result.call.provider, error)
    return finalizeCall(result, pricing)
  }
}
