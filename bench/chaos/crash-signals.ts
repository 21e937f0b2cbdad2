/** What arms a gateway's death at its next write: to a client, or to the upstream. See crash-point.ts. */
export const CRASH_SIGNALS = { client: 'SIGUSR2', upstream: 'SIGIO' } as const

export type CrashSignal = (typeof CRASH_SIGNALS)[keyof typeof CRASH_SIGNALS]
