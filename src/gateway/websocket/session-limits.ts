import type { OpenCall } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'
import { ERRORS } from '../../http/errors.ts'
import type { Admission, AdmissionOptions } from '../admission/admission.ts'
import { costSoFar } from '../recording/cost-so-far.ts'
import type { QuotingPricing } from '../recording/pricing.ts'
import { endpointContextOf } from '../routing/endpoint-context.ts'

/** A session under way. */
export interface SessionCost {
  readonly call: OpenCall
  readonly admission: Admission
  /** What its upstream has reported by now. */
  readonly observation: Observation
}

/**
 * Reserves what a session has cost so far. It may go on for hours, and other calls of its client must know.
 *
 * @returns Why the session has to end: a hard budget is spent, or holds for it while something that it used turned out
 *   to have no price; `null`: it may go on.
 */
export function reserveSoFar(
  { call, admission, observation }: SessionCost,
  pricing: QuotingPricing,
  { limits: process }: Pick<AdmissionOptions, 'limits'>,
): string | null {
  const { limits, caller, route } = admission
  if (limits === null || process === null) return null
  const cost = costSoFar(
    {
      call,
      client: caller,
      endpoint: endpointContextOf(route.dialect),
      status: 101,
      outcome: 'complete',
      observation,
      latencyUs: null,
      ttftUs: null,
      estimates: null,
    },
    pricing,
  )
  if (cost === null) return null
  if (cost.kind === 'priced') {
    const refusal = limits.progress(cost.costPico)
    if (refusal !== null) return refusal.detail.message ?? ERRORS[refusal.error].message
    if (cost.isPartly !== true) return null
  }
  const model = observation.model ?? call.requestedModel
  const isRefused = process.limiter.refusesUnpriced(caller.clientId, caller.keyId, model)
  return isRefused ? ERRORS.model_unpriced.message : null
}
