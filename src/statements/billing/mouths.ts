import { LAGO } from './lago.ts'
import type { Mouth, ReceiverSettings } from './mouth.ts'
import { OPENMETER } from './openmeter.ts'
import { STRIPE } from './stripe.ts'
import { WEBHOOK } from './webhook.ts'

/** Every kind of billing system, under the name that configurations use. */
export const MOUTHS = {
  stripe: STRIPE,
  lago: LAGO,
  openmeter: OPENMETER,
  webhook: WEBHOOK,
} as const satisfies Readonly<Record<string, Mouth>>

export type MouthKind = keyof typeof MOUTHS

export const MOUTH_KINDS = Object.keys(MOUTHS) as readonly MouthKind[]

/** A system that gets sums of usage. */
export interface BillingReceiver extends ReceiverSettings {
  readonly kind: MouthKind
}
