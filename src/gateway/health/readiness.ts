import type { Readiness } from '../../http/listener.ts'
import type { LedgerStats } from '../../ledger/ledger.ts'
import { COUNTING_LATE_MS } from '../../store/ledger/counting-late.ts'

/** What a gateway process knows of itself and of its stores. */
export interface GatewayState {
  readonly stopping: boolean
  readonly keysReady: boolean
  /** Whether the last poll of the keys in Postgres succeeded. */
  readonly postgresReachable: boolean
  /** Whether the last check of Redis found nothing that keeps records from being counted. */
  readonly redisUsable: boolean
  readonly ledger: LedgerStats
  /** The journal has room, and its disk takes writes. */
  readonly canTakeCalls: boolean
  /** Calls that find no room in the journal pass unmetered. */
  readonly passesUnmetered: boolean
  /** `null`: there is no replica. */
  readonly replicaUsed: boolean | null
  readonly kafkaBehind: boolean
  readonly limitsDegraded: boolean
  /** The clock and Postgres's differ by more than a second. */
  readonly clockOff: boolean
  /** What to do about a Postgres without connections for it; `null`: it has some. */
  readonly connectionShortage: string | null
}

/** Whether calls can be taken, and what does not work fully. */
export function readinessOf(state: GatewayState): Readiness {
  const { stopping, keysReady, ledger, canTakeCalls } = state
  const lacking: [string, boolean][] = [
    ['stopping', stopping],
    ['keys', !keysReady],
    ['journal', !ledger.journalWritable || !canTakeCalls],
    ['postgres', !state.postgresReachable],
    ['redis', !ledger.redisConnected || !state.redisUsable],
    ['counting', ledger.oldestUncommittedMs >= COUNTING_LATE_MS],
    ['replica', state.replicaUsed === false],
    ['kafka', state.kafkaBehind],
    ['limits', state.limitsDegraded],
    ['clock', state.clockOff],
    ['connections', state.connectionShortage !== null],
  ]
  return {
    ready: !stopping && keysReady && (state.passesUnmetered || canTakeCalls),
    degraded: lacking.filter(([, isLacking]) => isLacking).map(([name]) => name),
    ...(state.connectionShortage === null ? {} : { advice: [state.connectionShortage] }),
  }
}
