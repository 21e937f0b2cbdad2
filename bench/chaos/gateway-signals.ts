/** What arms a gateway's death: see crash-point.ts. */
export const CRASH_SIGNALS = {
  /** At one of its next writes to a client. */
  client: 'SIGUSR2',
  /** At one of its next writes to the upstream. */
  upstream: 'SIGIO',
  /** At its next write that shows a client the usage of a whole call. */
  usage: 'SIGXCPU',
  /** At one of the next commits to a journal: its own, or one that it adopted. */
  commit: 'SIGVTALRM',
} as const

export type CrashPoint = keyof typeof CRASH_SIGNALS

/** From then on a gateway's syncs leave word of what they saved: see recorded-syncs.ts. */
export const SYNC_SIGNALS = {
  progress: 'SIGALRM',
  /** And take long. */
  slow: 'SIGPWR',
} as const
