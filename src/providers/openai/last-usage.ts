import type { BilledUnits } from '../../call/usage.ts'
import type { ReadDocument } from '../reading/body-format.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { type JsonObject, objectIn, textIn } from '../reading/json-value.ts'
import type { ReadCost } from '../reading/reported-cost.ts'
import { ifCounted } from '../reading/usage-update.ts'
import type { OpenAiUsage } from './openai-usage.ts'

/** How the documents of an endpoint are read whose last `usage` at the root is the whole truth. */
export interface LastUsageRules {
  readonly readUsage: (usage: JsonObject) => OpenAiUsage
  /** Units from a document; what it leaves `null` stays as an earlier document had it. */
  readonly readUnits?: (document: JsonObject) => Partial<BilledUnits>
  readonly readCost?: ReadCost | undefined
}

/** Reads the usage at the root, the model and the units, for endpoints that report usage once. */
export function lastUsage({ readUsage, readUnits, readCost }: LastUsageRules): ReadDocument {
  return (document, raw) => {
    const usage = objectIn(document.usage)
    const counted = usage === null ? null : readUsage(usage)
    const units = Object.entries(readUnits?.(document) ?? {}).filter(([, count]) => count !== null)
    return {
      usage:
        counted && ifCounted({ ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }),
      // Usage without tokens (seconds, a cost) is kept as text too.
      raw: usage === null ? null : raw,
      isFinal: true,
      units: units.length === 0 ? null : Object.fromEntries(units),
      model: textIn(document.model),
      failed: carriesError(document),
      serviceTier: textIn(usage?.service_tier),
      reportedCostPico: usage === null ? null : (readCost?.(usage) ?? null),
    }
  }
}
