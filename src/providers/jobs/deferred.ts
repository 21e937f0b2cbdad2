import type { Observation } from '../../call/observation.ts'
import type { Dialect, UsageReader } from '../dialect.ts'
import { genericUsage } from '../generic/generic-usage.ts'

/**
 * Requests that only begin work, as batches do: a later request reports what it uses, or none does. The id under which a
 * later request may report it is kept; an answer with usage of its own is believed.
 */
export const deferredWork: Dialect = {
  name: 'deferred',
  outputBound: 'unknown',
  readsRequest: false,
  takesIncludeUsage: false,
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
