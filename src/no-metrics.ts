import type { CallObserver } from './call/proxied-call.ts'

export const NO_METRICS: CallObserver = {
  callStarted: () => {},
  callEnded: () => {},
  readingFailed: () => {},
  totalMismatch: () => {},
  callFailed: () => {},
}
