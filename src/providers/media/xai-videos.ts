import type { Dialect } from '../dialect.ts'
import { secondsAsMs } from '../reading/billed-units.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { member, textIn } from '../reading/json-value.ts'
import { costInTicks } from '../reading/reported-cost.ts'

import { filmOf } from './film.ts'

const PREFILTER = ['error']

/**
 * xAI's videos: the answer has an id alone, and the fetch that finds the job done has its cost.
 * Source: docs.x.ai, "Video generation".
 */
export const xaiVideos: Dialect = requestDialect({
  name: 'xai.videos',
  fields: { request_id: 'value', error: 'value' },
  prefilter: PREFILTER,
  requestFields: {},
  readRequest: () => ({ pending: true }),
  readAnswer: (job) => ({
    responseId: textIn(job.request_id),
    pending: true,
    failed: carriesError(job),
  }),
})

/** The fetch of such a job, by the id in its path. */
export const xaiVideo: Dialect = requestDialect({
  name: 'xai.video',
  fields: {
    status: 'value',
    model: 'value',
    usage: 'usage',
    video: { duration: 'value' },
    error: 'value',
  },
  prefilter: PREFILTER,
  requestFields: {},
  readRequest: ({ request }) => ({ responseId: request.path.slice(request.path.lastIndexOf('/') + 1) }),
  readAnswer: (job, raw) => {
    const usage = member(job, 'usage')
    const isDone = job.status === 'done' || usage !== null
    return {
      ...(isDone ? filmOf(secondsAsMs(member(job, 'video')?.duration)) : {}),
      raw,
      model: textIn(job.model),
      pending: !isDone && job.status === 'pending',
      failed: carriesError(job) || job.status === 'failed',
      reportedCostPico: usage === null ? null : costInTicks(usage),
    }
  },
})
