import type { CallLedger } from '../../call/call-ledger.ts'
import type { CallObserver } from '../../call/call-observer.ts'
import type { LearnedRatios } from '../estimation/learning/learned-ratios.ts'
import type { QuotingPricing } from '../recording/pricing.ts'
import type { Unattended } from './unattended.ts'

/** What all calls of a process share. */
export interface CallServices {
  readonly ledger: CallLedger
  readonly pricing: QuotingPricing
  readonly observer: CallObserver
  /** `drain`: an answer whose client has left is read to its end. */
  readonly onClientAbort: 'cancel' | 'drain'
  readonly unattended: Unattended
  /** Absent: estimates are as the constants say. */
  readonly ratios?: LearnedRatios
}
