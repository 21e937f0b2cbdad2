import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { renderJob, type UnsettledJob } from '../domain/documents/job-document.ts'
import { GatewayError } from '../http/errors.ts'
import { anyName, parseInput } from './admin-input.ts'

export interface AdminJobsOptions {
  /** The oldest first; of all clients for `null`. `null`: there is no such client. */
  readonly selectJobs: (client: string | null) => Promise<readonly UnsettledJob[] | null>
}

const jobsQuery = z.object({ client: anyName.optional() })

/** `/jobs`: submitted jobs that have not reported their usage. */
export function adminJobs(app: FastifyInstance, options: AdminJobsOptions): void {
  app.get('/jobs', async (request) => {
    const { client = null } = parseInput(jobsQuery, request.query)
    const jobs = await options.selectJobs(client)
    if (jobs === null) {
      throw new GatewayError('not_found', { param: 'client', message: `There is no client named ${client}.` })
    }
    return jobs.map(renderJob)
  })
}
