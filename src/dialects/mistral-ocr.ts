import { unitsIn } from './billed-units.ts'
import type { Dialect } from './dialect.ts'
import { jsonDialect } from './json-dialect.ts'
import { member } from './json-value.ts'
import { createLastUsageGatherer } from './last-usage.ts'
import { promptOnlyUsage } from './openai-usage.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

/** Mistral's OCR: billed by the page, `usage_info.pages_processed`. Source: docs.mistral.ai, "OCR". */
export const mistralOcr: Dialect = jsonDialect({
  name: 'mistral.ocr',
  format: {
    plan: planJson({
      model: 'value',
      usage: 'usage',
      usage_info: { pages_processed: 'value' },
      error: 'value',
    }),
    findTelling: findMembers(['usage', 'error']),
    createGatherer: () =>
      createLastUsageGatherer({
        readUsage: promptOnlyUsage,
        readUnits: (document) => ({ pages: unitsIn(member(document, 'usage_info')?.pages_processed) }),
      }),
  },
})
