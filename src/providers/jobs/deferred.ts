import type { Observation } from '../../call/observation.ts'
import type { Dialect, UsageReader } from '../dialect.ts'
import { genericUsage } from '../reading/generic-usage.ts'

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
      end: () => pendingUnlessTold(reader.end()),
      peek: () => pendingUnlessTold(reader.peek()),
      get revision() {
        return reader.revision
      },
    }
  },
  textOf: () => '',
}

function pendingUnlessTold(seen: Observation): Observation {
  return seen.usageSource === 'none' && !seen.pending ? { ...seen, pending: true } : seen
}
