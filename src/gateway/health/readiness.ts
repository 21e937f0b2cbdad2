import { CONDITIONS } from '../../doctor/conditions.ts'
import type { ReadinessItem } from '../../domain/conditions/condition.ts'
import type { ProcessState } from '../../domain/conditions/process-state.ts'
import type { Readiness } from '../../http/listener.ts'

/** What a gateway process knows of itself and of its stores. */
export interface GatewayState extends ProcessState {
  readonly stopping: boolean
  /** Calls that find no room in the journal pass unmetered. */
  readonly passesUnmetered: boolean
}

const ITEMS: readonly ReadinessItem[] = CONDITIONS.flatMap(({ readiness }) => readiness ?? [])

/** Whether calls can be taken, and what does not work fully. */
export function readinessOf(state: GatewayState): Readiness {
  const { stopping, keysReady, canTakeCalls, passesUnmetered } = state
  const lacking = ITEMS.filter(({ lacks }) => lacks(state))
  const advice = lacking.flatMap(({ advise }) => advise?.(state) ?? [])
  return {
    ready: !stopping && keysReady && (passesUnmetered || canTakeCalls),
    degraded: [...(stopping ? ['stopping'] : []), ...lacking.map(({ item }) => item)],
    ...(advice.length === 0 ? {} : { advice }),
  }
}
