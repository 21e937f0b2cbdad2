import { NO_USAGE } from '../../call/usage.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { textIn } from '../reading/json-value.ts'
import { type JobFormat, jobDialect, jobListDialect } from './job-list.ts'
import { madeAtMs } from './submitted-at.ts'

/**
 * A fine-tuning job, fetched by its id or in a list: `trained_tokens` is there once it has ended, and is what training
 * is billed by. `model` is the one that was trained. Source: OpenAI's API reference, "The fine-tuning job object";
 * Mistral's is written alike.
 */
const JOB: JobFormat = {
  name: 'openai.fine-tuning-job',
  wanted: { id: 'value', model: 'value', status: 'value', created_at: 'value', trained_tokens: 'value' },
  read(job) {
    const hasEnded = /^(?:succeeded|success|failed|cancelled)$/i.test(textIn(job.status) ?? '')
    const trained = hasEnded ? unitsIn(job.trained_tokens) : null
    return {
      usage: trained === null ? null : { usage: NO_USAGE, invalid: false },
      units: trained === null ? null : { trainedTokens: trained },
      isFinal: true,
      model: textIn(job.model),
      responseId: textIn(job.id),
      pending: trained === null && textIn(job.status) !== null,
      madeAtMs: madeAtMs(job.created_at),
    }
  },
}

export const fineTuningJob = jobDialect(JOB)
export const fineTuningJobs = jobListDialect(JOB)
