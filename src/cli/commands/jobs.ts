import type { Command } from 'commander'
import { Failure } from '../../doctor/failure.ts'
import { renderJob, type UnsettledJob } from '../../domain/documents/job-document.ts'
import { findClient } from '../../keys/clients.ts'
import { selectUnsettledJobs } from '../../objects/table/jobs-table.ts'
import { renderTable } from '../../operations/table.ts'
import type { Cli } from '../cli.ts'

/** `jobs list`: batches, background responses and videos that have not reported their usage. */
export function addJobsCommands(program: Command, cli: Cli): void {
  const jobs = program.command('jobs').description('batches and other jobs, which tell later what they used')

  jobs
    .command('list')
    .description('those that were submitted and never fetched, the oldest first, at most 1,000')
    .option('--client <name>', 'of this client alone')
    .action(async ({ client }: { readonly client?: string }) => {
      const found = await cli.withServers(async ({ pool }) => {
        if (client !== undefined && (await findClient(pool, client)) === null) {
          throw new Failure(`there is no client named ${client}`)
        }
        return await selectUnsettledJobs(pool, client ?? null)
      })
      cli.print(found.map(renderJob), table(found))
    })
}

function table(jobs: readonly UnsettledJob[]): string {
  if (jobs.length === 0) return 'Every submitted job has reported its usage.'
  return renderTable(
    [
      { heading: 'SUBMITTED' },
      { heading: 'CLIENT' },
      { heading: 'UPSTREAM' },
      { heading: 'KIND' },
      { heading: 'ID' },
    ],
    jobs.map(({ createdAt, clientName, upstream, kind, id }) => [
      createdAt.toISOString(),
      clientName,
      upstream,
      kind,
      id,
    ]),
  )
}
