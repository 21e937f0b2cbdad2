import type { CallRecord, OpenCall } from './call-record.ts'

/** The name of a call in the ledger. Its client says in which journal the call is. */
export type CallName = Pick<OpenCall, 'callId' | 'clientId'>

/** The part of budgets that a call without a cost goes on to hold: pico-USD, above 0. */
export interface KeptReserve {
  readonly pico: bigint
  /** `job`: a job that it made, until that tells its use. `call`: itself, in place of a cost. */
  readonly by: 'job' | 'call'
}

/**
 * Tells what is known of a call's usage now, as text for the journal; `null`: nothing that is to be kept. It is asked
 * when the journal is written, so that running counts cost nothing until then, and never throws.
 */
export type SnapshotSource = () => string | null

/** The ledger as a call needs it. Callbacks run when what they wait for survives a kill -9. */
export interface CallLedger {
  readonly canTakeCalls: boolean
  open(call: OpenCall, onWritten: (error: Error | null) => void): void
  /** Within about a second what is known of an open call's usage by then is written. Asked for once. */
  saveSnapshot(call: CallName, snapshot: SnapshotSource): void
  /**
   * Writes it at the end of this turn of the event loop, unless the call has its record by then.
   *
   * @param onWritten With an error: it is not written, and what depends on it must not happen.
   */
  saveSnapshotNow(call: CallName, snapshot: SnapshotSource, onWritten: (error: Error | null) => void): void
  /**
   * The call ended with `record`.
   *
   * @param onWritten `sequence`: the record's number in its client's journal; 0: it is in none (yet). `kept`: what the
   * record says that budgets go on to hold.
   * @param reservedPico What the call reserved of budgets: they hold it until the cost of the call or of its job is known.
   */
  close(
    record: CallRecord,
    onWritten: (error: Error | null, sequence: number, kept?: KeptReserve) => void,
    reservedPico?: bigint,
  ): void
  /** Drops an open call that never went upstream. */
  discard(call: CallName): void
}

/**
 * Why a call failed at its upstream: its name has no address, its host takes no connection or none in time, TLS
 * failed, it broke off, took too long, answered with anything but HTTP, or with such a status.
 */
export type UpstreamFailure =
  | 'dns'
  | 'connect_refused'
  | 'connect_timeout'
  | 'tls'
  | 'broken_off'
  | 'slow_answer'
  | 'malformed_answer'
  | 'credential_refused'
  | 'rate_limited'
  | 'server_error'

/** A call reports here what the operator counts. */
export interface CallObserver {
  callStarted(call: OpenCall): void
  callEnded(record: CallRecord): void
  /** A call that ended, too, and whose record stands nowhere: see `failOpenLedger`. */
  callUnmetered(record: CallRecord): void
  /** Comes before the end of the call. */
  upstreamFailed(call: OpenCall, cause: UpstreamFailure): void
  /** An attempt failed, `call` as it was made, and another target is tried. Comes after `upstreamFailed`. */
  attemptFailed(call: OpenCall, reason: string): void
  readingFailed(provider: string, error: unknown): void
  totalMismatch(provider: string): void
  callFailed(call: OpenCall, error: unknown): void
}

/** The caller: a key that was found and is active, and the client it belongs to. */
export interface Caller {
  readonly clientId: string
  readonly clientName: string
  readonly keyId: string
  /** The key's label. */
  readonly keyName: string
  /** Model names or `prefix*` patterns this key may use; `null`: all. */
  readonly models: readonly string[] | null
  /** The end of the token that it called with, milliseconds since 1970; absent: it called with a key. */
  readonly tokenEndsAtMs?: number
  /** Whether that token has been revoked since, or the key that it is signed by has gone. */
  readonly isTokenOver?: () => boolean
  /** That token's values for axes, as they are kept, by the sources of the configuration that they answer; absent: none. */
  readonly claimed?: ReadonlyMap<unknown, string>
}

/** Whose a key is. */
export interface KeyOwner {
  readonly clientId: string
  readonly keyId: string
}

/** The outcome of a look-up of an API key. `unavailable`: not known here, and the store that knows is away. */
export type CallerLookup =
  | { readonly kind: 'active'; readonly caller: Caller }
  | { readonly kind: 'unknown' }
  /** Revoked, or its time is over. */
  | { readonly kind: 'key_inactive'; readonly isExpired?: true; readonly of?: KeyOwner }
  | { readonly kind: 'client_disabled'; readonly of?: KeyOwner }
  | { readonly kind: 'unavailable' }
  /** A token of an identity provider, in place of a key. `reason` is for metrics, `because` for its client. */
  | { readonly kind: 'token_refused'; readonly reason: string; readonly because: string }
