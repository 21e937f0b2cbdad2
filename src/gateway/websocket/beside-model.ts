import { cleanModel } from '../../domain/clean-text.ts'
import { ERRORS } from '../../http/errors.ts'
import { awaitLimits, endingUncharged, isReservation } from '../../limits/engine/held-limits.ts'
import { ANY_MODEL, modelBeside } from '../../limits/engine/limiter.ts'
import type { Admission, AdmissionOptions, Held } from '../admission/admission.ts'
import { runningModelOf } from '../admission/stages/limits.ts'
import { refusesBeside } from '../admission/stages/model-access.ts'

/** A session. */
interface SessionOfModels {
  readonly admission: Admission
  readonly isOver: () => boolean
}

/** The model that a session runs beside its own: one at a time. */
export class BesideModel {
  readonly #session: SessionOfModels
  readonly #options: Pick<AdmissionOptions, 'limits'>
  /** A call of the limits that are for that model alone; `null`: there are none. */
  #held: Held | null = null
  #last: Promise<string | null> = Promise.resolve(null)

  constructor(session: SessionOfModels, options: Pick<AdmissionOptions, 'limits'>) {
    this.#session = session
    this.#options = options
    session.admission.hold({ release: () => this.#release() })
  }

  /**
   * Why the session has to end that runs `model` from now on; `null`: it may go on. What it costs counts for the limits
   * of the session's model.
   */
  run(model: string): Promise<string | null> {
    this.#last = this.#last.then(async () => {
      // A limit of one call at a time may be for both.
      this.#release()
      const found = await admitBeside(model, this.#session.admission, this.#options)
      if (found === null || typeof found === 'string') return found
      this.#held = found
      if (this.#session.isOver()) this.#release()
      return null
    })
    return this.#last
  }

  #release(): void {
    const held = this.#held
    this.#held = null
    held?.release()
  }
}

/** Gives what is held for `model`, or why it may not run; `null`: it may, and no limit is for it alone. */
async function admitBeside(
  model: string,
  admission: Admission,
  { limits }: Pick<AdmissionOptions, 'limits'>,
): Promise<Held | string | null> {
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
  return isReservation(found) ? endingUncharged(found) : (found.detail.message ?? ERRORS[found.error].message)
}
