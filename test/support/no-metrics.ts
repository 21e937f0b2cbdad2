import type { CallObserver } from '../../src/call/call-observer.ts'

/** For calls that nobody counts. */
export const NO_METRICS: CallObserver = {
  callStarted: () => {},
  callEnded: () => {},
  callUnmetered: () => {},
  readingFailed: () => {},
  totalMismatch: () => {},
  callFailed: () => {},
}
