import type { CallObserver } from '../../src/gateway/proxy/proxied-call.ts'

/** For calls that nobody counts. */
export const NO_METRICS: CallObserver = {
  callStarted: () => {},
  callEnded: () => {},
  callUnmetered: () => {},
  readingFailed: () => {},
  totalMismatch: () => {},
  callFailed: () => {},
}
