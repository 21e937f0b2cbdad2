import { cleanModel } from '../../domain/clean-text.ts'
import { ERRORS } from '../../http/errors.ts'
import { awaitLimits, endingUncharged, isReservation } from '../../limits/engine/held-limits.ts'
import { ANY_MODEL, modelBeside } from '../../limits/engine/limiter.ts'
import type { Admission, AdmissionOptions } from '../admission/admission.ts'
import { runningModelOf } from '../admission/stages/limits.ts'
import { refusesBeside } from '../admission/stages/model-access.ts'

/** A session. */
interface SessionOfModels {
  readonly admission: Admission
  readonly isOver: () => boolean
}

/**
 * Why a session has to end that runs `model` beside its own; `null`: it may go on. Holds a call of the limits that are
 * for that model alone, until the session is over. What it costs counts for the limits of the session's model.
 */
export async function refusalOfBeside(
  model: string,
  { admission, isOver }: SessionOfModels,
  { limits }: Pick<AdmissionOptions, 'limits'>,
): Promise<string | null> {
  const { caller, client, axes, arrivedAtMs } = admission
  const { clientId, keyId, models } = caller
  const offList = models === null ? null : refusesBeside(models, model)
  if (offList !== null) return offList
  const name = cleanModel(model)
  if (limits === null || name === null) return null
  const { limiter } = limits
  const own = limiter.limits(clientId, keyId, axes) ? runningModelOf(admission) : ANY_MODEL
  if (own === ANY_MODEL) return null
  const asked = { model: modelBeside(name, own), estimatedPico: 1n, estimatedTokens: 1 }
  const admitted = limiter.admit({ clientId, keyId, axes, arrivedAtMs, client, ...asked })
  const found = admitted instanceof Promise ? await awaitLimits(admitted, client) : admitted
  if (found === null || found === 'gone') return null
  if (!isReservation(found)) return found.detail.message ?? ERRORS[found.error].message
  const held = endingUncharged(found)
  if (isOver()) held.release()
  else admission.hold(held)
  return null
}
