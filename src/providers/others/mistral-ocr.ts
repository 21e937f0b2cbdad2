import type { Dialect } from '../dialect.ts'
import { promptOnlyUsage } from '../openai/openai-usage.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { member, textIn } from '../reading/json-value.ts'
import { ifCounted } from '../reading/usage-update.ts'

/**
 * Mistral's OCR: billed by the page, `usage_info.pages_processed`, and on top of it by the page that was annotated,
 * `pages_processed_annotation`; where annotations were asked for and that is not said, every page.
 * Source: docs.mistral.ai, "OCR" and "Annotations".
 */
export const mistralOcr: Dialect = requestDialect({
  name: 'mistral.ocr',
  fields: {
    model: 'value',
    usage: 'usage',
    usage_info: { pages_processed: 'value', pages_processed_annotation: 'value' },
    error: 'value',
  },
  prefilter: ['usage', 'error'],
  requestFields: { document_annotation_format: 'length', bbox_annotation_format: 'length' },
  readRequest: () => ({}),
  readAnswer: (document, raw, { fields, isRead }) => {
    const usage = member(document, 'usage')
    const counted = usage === null ? null : promptOnlyUsage(usage)
    const info = member(document, 'usage_info')
    const pages = unitsIn(info?.pages_processed)
    const asked = [fields.document_annotation_format, fields.bbox_annotation_format].some(isSaid)
    const annotatedPages = unitsIn(info?.pages_processed_annotation) ?? (asked ? pages : null)
    // Whether they were annotated is not known: it counts as something beside them that has no price.
    const otherToolCalls = annotatedPages === null && !isRead ? 1 : null
    return {
      usage:
        counted && ifCounted({ ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }),
      raw: usage === null ? null : raw,
      isFinal: true,
      units: pages === null && annotatedPages === null ? null : { pages, annotatedPages, otherToolCalls },
      model: textIn(document.model),
      failed: carriesError(document),
    }
  },
})

const NULL_BYTES = 'null'.length

/** By how long it is written: a format is an object. */
function isSaid(bytes: unknown): boolean {
  return typeof bytes === 'number' && bytes > NULL_BYTES
}
