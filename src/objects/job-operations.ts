import { renderJob, type UnsettledJob } from '../domain/documents/job-document.ts'
import { findClient } from '../keys/clients.ts'
import {
  shownDocument,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../operations/answers.ts'
import { clientField } from '../operations/fields.ts'
import { type Chapter, renderedOperation } from '../operations/operation.ts'
import type { Ports } from '../operations/ports.ts'
import { noClient } from '../operations/refuse.ts'
import { selectUnsettledJobs } from './table/jobs-table.ts'

const listJobs = renderedOperation({
  name: 'jobs.list',
  summary: 'Shows jobs that were submitted and never fetched, the oldest first, at most 1,000.',
  description: 'What they used is in no totals.',
  role: 'read',
  http: { method: 'GET', path: '/jobs', id: 'listJobs' },
  input: { client: clientField().optional() },
  answer: shownList(
    shownDocument('Job', {
      id: shownText("The upstream's id of the job."),
      kind: shownText('batch, response, video, ...'),
      upstream: shownText('The upstream where it runs.'),
      client: shownText('The name of the client that submitted it.'),
      key_id: shownText('The key that it was submitted with.'),
      model: shownTextOrNull('The model that the request named. null: it named none.'),
      created_at: shownMoment('The time at which it was submitted.'),
      deleted_at: shownMomentOrNull(
        'The time at which it was deleted through the gateway. null: it was not.',
      ),
    }),
  ),
  gives: 'The jobs.',
  errors: ['not_found'],
  async run({ pool }: Ports, { client = null }) {
    if (client !== null && (await findClient(pool, client)) === null) throw noClient(client)
    return await selectUnsettledJobs(pool, client)
  },
  render: (jobs: readonly UnsettledJob[]) => jobs.map(renderJob),
  command: {
    words: 'jobs list',
    print: {
      empty: 'Every submitted job has reported its usage.',
      columns: [
        { heading: 'SUBMITTED', cell: ({ createdAt }) => createdAt.toISOString() },
        { heading: 'CLIENT', cell: ({ clientName }) => clientName },
        { heading: 'UPSTREAM', cell: ({ upstream }) => upstream },
        { heading: 'KIND', cell: ({ kind }) => kind },
        { heading: 'ID', cell: ({ id }) => id },
      ],
    },
  },
})

export const JOBS_CHAPTER: Chapter<Ports> = {
  words: 'jobs',
  about: 'Batches and other jobs, which report later what they used.',
  operations: [listJobs],
}
