import { MAX_BESIDE_MODELS } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'
import { cleanModel } from '../../domain/clean-text.ts'
import { ERRORS } from '../../http/errors.ts'
import { awaitLimits, endUncharged, isReservation } from '../../limits/engine/held-limits.ts'
import type { LimitRefusal, Reservation } from '../../limits/engine/limiter.ts'
import type { Limit } from '../../limits/limit.ts'
import type { BesideCost } from '../../pricing/catalog/catalog-call.ts'
import type { Admission, AdmissionOptions } from '../admission/admission.ts'
import { refusesBeside } from '../admission/stages/model-access.ts'

const TOO_MANY_MODELS = `A session runs at most ${MAX_BESIDE_MODELS} models beside its own.`

/** A session. */
interface SessionOfModels {
  readonly admission: Admission
  readonly isOver: () => boolean
}

/** The models that a session runs beside its own: one at a time. */
export class BesideModel {
  readonly #session: SessionOfModels
  readonly #options: Pick<AdmissionOptions, 'limits'>
  /** By model: a call of the limits that are for it alone. All but the last one's rest, which keeps what they have cost. */
  readonly #held = new Map<string, Reservation>()
  #costs: ReadonlyMap<string, bigint> = new Map()
  #last: Promise<string | null> = Promise.resolve(null)

  constructor(session: SessionOfModels, options: Pick<AdmissionOptions, 'limits'>) {
    this.#session = session
    this.#options = options
    session.admission.hold({ release: () => this.#release() })
  }

  /** Why the session has to end that runs `model` from now on; `null`: it may go on. @param model `null`: none any more */
  run(model: string | null): Promise<string | null> {
    this.#last = this.#last.then(async () => {
      // A limit of one call at a time may be for both.
      for (const reservation of this.#held.values()) reservation.rest()
      const name = cleanModel(model)
      if (model === null || name === null) return null
      if (!this.#hasRoomFor(name)) return TOO_MANY_MODELS
      const found = await admitBeside(model, name, this.#session.admission, this.#options)
      if (found === null || typeof found === 'string') return found
      const earlier = this.#held.get(name)
      this.#held.set(name, found)
      if (earlier !== undefined) endUncharged(earlier)
      const refusal = this.#reserve(name)
      if (this.#session.isOver()) this.#release()
      return refusal === null ? null : messageOf(refusal)
    })
    return this.#last
  }

  /** Reserves what they have cost so far. Not `null`: a budget for one of them has no room. */
  progress(costs: readonly BesideCost[]): LimitRefusal | null {
    const sums = new Map<string, bigint>()
    for (const { model, costPico } of costs) {
      const name = cleanModel(model) ?? ''
      sums.set(name, (sums.get(name) ?? 0n) + costPico)
    }
    this.#costs = sums
    let refusal: LimitRefusal | null = null
    for (const name of this.#held.keys()) refusal = this.#reserve(name) ?? refusal
    return refusal
  }

  /** Only the last one runs, so those that have cost nothing need not be held on. */
  #hasRoomFor(name: string): boolean {
    if (this.#held.size < MAX_BESIDE_MODELS || this.#held.has(name)) return true
    for (const [of, reservation] of this.#held) {
      if ((this.#costs.get(of) ?? 0n) > 0n) continue
      endUncharged(reservation)
      this.#held.delete(of)
    }
    return this.#held.size < MAX_BESIDE_MODELS
  }

  #reserve(name: string): LimitRefusal | null {
    const pico = this.#costs.get(name) ?? 0n
    return pico === 0n ? null : (this.#held.get(name)?.progress(pico) ?? null)
  }

  #release(): void {
    for (const reservation of this.#held.values()) endUncharged(reservation)
    this.#held.clear()
  }
}

function messageOf({ error, detail }: LimitRefusal): string {
  return detail.message ?? ERRORS[error].message
}

/** Gives what is held for `model`, or why it may not run; `null`: it may, and no limit is for it alone. */
async function admitBeside(
  model: string,
  name: string,
  admission: Admission,
  { limits }: Pick<AdmissionOptions, 'limits'>,
): Promise<Reservation | string | null> {
  const { caller, client, axes, arrivedAtMs } = admission
  const { clientId, keyId, models } = caller
  const offList = models === null ? null : refusesBeside(models, model)
  if (offList !== null) return offList
  if (limits === null) return null
  const { limiter } = limits
  if (!limiter.limits(clientId, keyId, axes)) return null
  const isHeld = (limit: Limit) => admission.limits?.holds(limit) ?? false
  const asked = { model: name, isHeld, estimatedPico: 1n, estimatedTokens: 1 }
  const admitted = limiter.admit({ clientId, keyId, axes, arrivedAtMs, client, ...asked })
  const found = admitted instanceof Promise ? await awaitLimits(admitted, client) : admitted
  if (found === null || found === 'gone') return null
  return isReservation(found) ? found : messageOf(found)
}

/** The models that a session has run beside its own and whose part has no price, or none for all of it. */
export function modelsWithoutPrice(
  { parts, usageSource }: Observation,
  costs: readonly BesideCost[],
): readonly string[] {
  const models =
    usageSource === 'invalid'
      ? // What they used is not known.
        (parts ?? []).map(({ model, isBeside }) => (isBeside === true ? model : null))
      : costs.map(({ model, lacksPrice }) => (lacksPrice === true ? model : null))
  return models.flatMap((model) => cleanModel(model) ?? [])
}
