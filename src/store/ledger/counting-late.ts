/**
 * A finished call is counted within two seconds. Where a record waits for longer than this, counting has stopped: for
 * readiness, `doctor` and alerts alike.
 */
export const COUNTING_LATE_MS = 10_000
