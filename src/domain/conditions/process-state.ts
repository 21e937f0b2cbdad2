/** What a gateway process knows of itself and of its stores, without asking them. */
export interface ProcessState {
  /** Tells whether keys and the time are known. */
  readonly keysReady: boolean
  /** Tells whether the last poll of the keys in Postgres succeeded. */
  readonly postgresReachable: boolean
  /** Tells whether the last check of Redis found nothing that keeps records from being counted. */
  readonly redisUsable: boolean
  readonly redisConnected: boolean
  /** How long the oldest record has waited to be counted; 0: none waits. */
  readonly oldestUncommittedMs: number
  /** JOURNAL_MAX_BYTES. */
  readonly journalMaxBytes: number
  /** Tells whether the disk takes what is written to the journal. */
  readonly journalWritable: boolean
  /** The journal has room, and its disk takes writes. */
  readonly canTakeCalls: boolean
  /** `null`: there is no replica. */
  readonly replicaUsed: boolean | null
  readonly kafkaBehind: boolean
  /** Rates and budgets cannot be shared with the other gateways. */
  readonly limitsDegraded: boolean
  /** The clock and Postgres's differ by more than a second. */
  readonly clockOff: boolean
  /** How far Postgres's clock is ahead; `null`: not known. */
  readonly clockOffsetMs: number | null
  /** The disk of the journal, as of some seconds ago; `null`: not known. */
  readonly disk: { readonly bytes: number; readonly freeBytes: number } | null
  /** The end of the certificate for clients; `null`: plain HTTP. */
  readonly certificateEndsAtMs: number | null
  /** Upstreams that refuse the gateway's key, to others than one client alone. */
  readonly upstreamsRefusing: number
  /** What to do about a Postgres without connections for it; `null`: it has some. */
  readonly connectionShortage: string | null
}
