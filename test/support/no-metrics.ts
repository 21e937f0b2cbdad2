import type { CallObserver } from '../../src/call/call-ports.ts'

/** For calls that are not counted. */
export const NO_METRICS: CallObserver = {
  callStarted: () => {},
  callEnded: () => {},
  callUnmetered: () => {},
  upstreamFailed: () => {},
  attemptFailed: () => {},
  readingFailed: () => {},
  totalMismatch: () => {},
  callFailed: () => {},
}
