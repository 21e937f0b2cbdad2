import { RECEIVERS } from '../alerts/conditions.ts'
import { CORRECTION_CONDITIONS } from '../corrections/conditions.ts'
import type { Alert } from '../domain/conditions/condition.ts'
import { KEY_CONDITIONS } from '../keys/conditions.ts'
import { LEDGER_CONDITIONS } from '../ledger/conditions/ledger-conditions.ts'
import { BUDGETS, LIMITS_SHARED, VALUE_BUDGETS } from '../limits/conditions/budgets.ts'
import { TRIED_LIMITS } from '../limits/conditions/tried-limits.ts'
import { OBJECT_CONDITIONS } from '../objects/conditions.ts'
import { type OwnPrices, PRICE_CONFIGURATION } from '../pricing/conditions/gateway-prices.ts'
import { PRICE_DATA } from '../pricing/conditions/price-data.ts'
import { BILLING } from '../statements/billing/conditions.ts'
import type { Condition, StorePorts } from '../store/conditions/condition.ts'
import { STORE_CONDITIONS } from '../store/conditions/store-conditions.ts'
import type { ReplicaState } from '../store/replica/reports.ts'
import { USAGE_CONDITIONS } from '../usage/conditions/usage-conditions.ts'
import type { HasPrice } from '../usage/unpriced-use.ts'
import { GATEWAY_ANSWERS } from './gateway.ts'

/** Everything that any condition is found by. */
export interface ConditionPorts extends StorePorts {
  /** `null`: not configured, so not looked at. */
  readonly redisUrl: string | null
  /** The peppers of keys at rest; empty: not configured. */
  readonly keyPeppers: readonly string[]
  readonly journalDir: string
  /** A gateway's operator listener; `null`: none to ask. */
  readonly adminUrl: string | null
  /** The replica for reports; `null`: none. */
  readonly replica: ReplicaState | null
  /** What this process would price by. */
  readonly ownPrices: OwnPrices
  /** Whether a model has a price now, by the prices in force; `null`: gateways price differently. */
  readonly findHasPrice: () => Promise<HasPrice | null>
}

/** All that can be wrong, chapter by chapter, in the order of `doctor`'s lines. */
export const CONDITIONS: readonly Condition<ConditionPorts>[] = [
  BUDGETS,
  VALUE_BUDGETS,
  TRIED_LIMITS,
  ...STORE_CONDITIONS,
  ...KEY_CONDITIONS,
  ...LEDGER_CONDITIONS,
  ...USAGE_CONDITIONS,
  PRICE_DATA,
  PRICE_CONFIGURATION,
  ...OBJECT_CONDITIONS,
  ...CORRECTION_CONDITIONS,
  RECEIVERS,
  BILLING,
  LIMITS_SHARED,
  GATEWAY_ANSWERS,
]

export const ALERTS: readonly Alert<StorePorts>[] = CONDITIONS.flatMap(({ alert }) => alert ?? [])

/** What receivers may ask for. */
export const ALERT_KINDS: readonly string[] = ALERTS.map(({ kind }) => kind)
