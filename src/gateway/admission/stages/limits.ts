import { cleanModel } from '../../../domain/clean-text.ts'
import { type CallRefusal, ERRORS } from '../../../http/errors.ts'
import { awaitLimits, HeldLimits, isReservation } from '../../../limits/engine/held-limits.ts'
import {
  ANY_MODEL,
  anyOfModels,
  type ExpectedUse,
  type LimitedCall,
  type LimitRefusal,
  type Reservation,
} from '../../../limits/engine/limiter.ts'
import { DearestUse } from '../../expected-use/dearest-use.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'
import { renderRates } from '../rate-headers.ts'

const NO_USE: ExpectedUse = { pico: 0n, tokens: 0, isPriced: true }

/** Clients' libraries try every 429 again, and this one stays until the budget's period ends. */
const NO_RETRY = { 'x-should-retry': 'false' }
const RETRY_SOON = { 'retry-after': '1' }

type LimitsOptions = Pick<AdmissionOptions, 'limits' | 'now'>

/**
 * Takes what the call may use from its client's limits, and gives it back when the call is over. Refuses a call that
 * does not fit, and one whose cost could not be said where a hard budget holds.
 */
export function checkLimits(
  admission: Admission,
  options: LimitsOptions,
): CallRefusal | null | Promise<CallRefusal | null> {
  const { limits } = options
  if (limits === null) return null
  const { caller, client, arrivedAtMs, axes } = admission
  const { clientId, keyId } = caller
  const { limiter } = limits
  if (!limiter.limits(clientId, keyId, axes)) return null
  const expected = runsModel(admission) ? limits.expectedUse(admission) : NO_USE
  const model = modelOf(admission, expected)
  const call = {
    clientId,
    keyId,
    model,
    route: admission.route.choice?.asked,
    axes,
    arrivedAtMs,
    estimatedPico: expected.pico,
    estimatedTokens: expected.tokens,
    client,
  }
  if (!expected.isPriced && !isNamedLater(admission) && limiter.refusesUnpriced(call)) {
    return unpriced(unpricedModel(admission, expected) ?? model)
  }
  const admitted = limiter.admit(call)
  if (!(admitted instanceof Promise)) return take(admitted, expected, call, admission, options)
  return awaitLimits(admitted, client).then((found) =>
    found === 'gone' ? null : take(found, expected, call, admission, options),
  )
}

/** Whether the call would be refused if it did not say which model it is for. */
export function needsOneModel(admission: Admission, { limits }: Pick<LimitsOptions, 'limits'>): boolean {
  if (limits === null || admission.limits === null) return false
  const { caller, arrivedAtMs, axes } = admission
  const { clientId, keyId } = caller
  return limits.limiter.refusesUnpriced({ clientId, keyId, model: ANY_MODEL, axes, arrivedAtMs })
}

/** Names the model, so that its client sees a slip of the pen, and its operator knows what to price. */
function unpriced(model: string | null): CallRefusal {
  const isOne = model !== null && model !== ANY_MODEL && !model.includes('\n')
  const named = isOne ? { message: `${ERRORS.model_unpriced.message} The model is '${model}'.` } : {}
  return { error: 'model_unpriced', detail: { param: 'model', ...named } }
}

/** By a route it is a target's. The name that was asked for has no price to look up. */
function unpricedModel({ route, mayRunOthers }: Admission, expected: ExpectedUse): string | null {
  const { choice, modelInPath } = route
  if (choice === null || mayRunOthers) return null
  return expected instanceof DearestUse ? expected.unpricedModel : (modelInPath ?? choice.model)
}

/** A call on a free path and a fetch of what was made before use a connection, and no tokens. */
function runsModel({ route: { reading, isFetch } }: Admission): boolean {
  return reading !== 'free' && !isFetch
}

/** Some sessions name their model in a message. They are ended where it turns out to have no price. */
function isNamedLater({ webSocket, namedModel, route }: Admission): boolean {
  return webSocket && namedModel === null && route.modelInPath === null && route.reading === 'metered'
}

/** The model whose limits hold. Where the call may run another one than it names, or names none, those of all do. */
function modelOf(admission: Admission, expected: ExpectedUse): string | null {
  const { route, namedModel } = admission
  const runsNone = expected.pico === 0n && expected.tokens === 0
  return runsNone && route.choice === null
    ? cleanModel(route.modelInPath ?? namedModel)
    : runningModelOf(admission)
}

/** The same of a call that runs one. */
export function runningModelOf(admission: Admission): string {
  const { route, namedModel, candidates } = admission
  if (route.choice !== null)
    return anyOfModels([route.choice.asked, ...candidates.map(({ choice }) => choice?.model ?? '')])
  if (admission.isNameInDoubt) return ANY_MODEL
  if (route.modelInPath !== null) {
    // LiteLLM takes the model of the path, and what may serve in its place from the body.
    const others = admission.body.scan?.namesOtherModels === true
    return others ? ANY_MODEL : (cleanModel(route.modelInPath) ?? ANY_MODEL)
  }
  const named = cleanModel(namedModel)
  return named === null || admission.mayRunOthers ? ANY_MODEL : named
}

function take(
  found: Reservation | LimitRefusal | null,
  expected: ExpectedUse,
  call: LimitedCall,
  admission: Admission,
  { limits, now }: LimitsOptions,
): CallRefusal | null {
  if (found === null || limits === null) return null
  const rates = renderRates(limits.limiter.rates(call), admission.errorShape, now())
  if (isReservation(found)) {
    const held = new HeldLimits(found, expected, limits)
    admission.hold(held)
    admission.limits = held
    admission.rates = rates
    return null
  }
  const { error, reason, limitId, detail } = found
  const added = error === 'budget_exceeded' ? NO_RETRY : RETRY_SOON
  return { error, reason, limitId, detail: { ...detail, headers: { ...rates, ...added, ...detail.headers } } }
}
