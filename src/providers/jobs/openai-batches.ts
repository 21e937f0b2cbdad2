import type { Dialect } from '../dialect.ts'
import { responsesUsage } from '../openai/openai-usage.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { member, textIn } from '../reading/json-value.ts'
import { type JobFormat, jobDialect, jobListDialect } from './job-list.ts'
import { madeAtMs } from './submitted-at.ts'

const ENDED = new Set(['completed', 'expired', 'cancelled', 'failed'])

/**
 * A batch, fetched by its id or in a list: once it has ended, `usage` is the sum over all its requests; before, it is not
 * final and does not count. Every fetch reports it again, which is what `responseId` is for.
 * Source: OpenAI's API reference, "The batch object".
 */
const BATCH: JobFormat = {
  name: 'openai.batch',
  wanted: { id: 'value', model: 'value', status: 'value', created_at: 'value', usage: 'usage' },
  read(batch, text) {
    const hasEnded = ENDED.has(textIn(batch.status) ?? '')
    const usage = hasEnded ? member(batch, 'usage') : null
    const counted = usage === null ? null : responsesUsage(usage)
    return {
      usage: counted && { ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) },
      // In a list the text of one is not kept apart.
      raw: usage === null ? null : (text ?? JSON.stringify(usage)),
      isFinal: true,
      isSum: counted !== null,
      model: textIn(batch.model),
      responseId: textIn(batch.id),
      // Or it is reported elsewhere: in the file that it left.
      pending: counted === null && textIn(batch.status) !== null,
      serviceTier: 'batch',
      madeAtMs: madeAtMs(batch.created_at),
    }
  },
}

export const openAiBatch: Dialect = { ...jobDialect(BATCH), countsTokens: false }
export const openAiBatches = jobListDialect(BATCH)
