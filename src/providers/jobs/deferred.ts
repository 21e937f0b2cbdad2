import type { Observation } from '../../call/observation.ts'
import type { Dialect, UsageReader } from '../dialect.ts'
import { genericUsage } from '../generic/generic-usage.ts'

/**
 * Requests that only begin work, as batches do: what it uses is told by a later request, or by none. The id that a later
 * request may tell it under is kept; an answer that tells usage of its own is believed.
 */
export const deferredWork: Dialect = {
  name: 'deferred',
  readsRequest: false,
  takesIncludeUsage: false,
  errorShape: 'openai',
  modelInPath: () => null,
  createReader(request, head): UsageReader {
    const reader = genericUsage.createReader(request, head)
    return {
      push: (chunk) => reader.push(chunk),
      end: () => pendingUnlessReported(reader.end()),
      peek: () => pendingUnlessReported(reader.peek()),
      get revision() {
        return reader.revision
      },
    }
  },
  textOf: () => '',
}

function pendingUnlessReported(observed: Observation): Observation {
  return observed.usageSource === 'none' && !observed.pending ? { ...observed, pending: true } : observed
}
