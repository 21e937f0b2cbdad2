import type { FastifyInstance } from 'fastify'
import type { Heartbeat } from '../store/processes/processes-table.ts'
import { noQuery, parseInput } from './admin-input.ts'

export interface AdminHealthOptions {
  /** What gateways and workers last said of themselves. */
  readonly selectHeartbeats: () => Promise<readonly Heartbeat[]>
  /** The findings of `doctor` as JSON. */
  readonly runChecks: () => Promise<object>
}

/** `/gateways`: what each process said of itself. `/doctor`: what is reachable, what is wrong, and what to do about it. */
export function adminHealth(app: FastifyInstance, options: AdminHealthOptions): void {
  app.get('/gateways', async (request) => {
    parseInput(noQuery, request.query)
    return (await options.selectHeartbeats()).map(renderHeartbeat)
  })
  app.get('/doctor', (request) => {
    parseInput(noQuery, request.query)
    return options.runChecks()
  })
}

function renderHeartbeat({ process, kind, saidAt, silentMs, clockOffsetMs, report }: Heartbeat) {
  return {
    process,
    kind,
    said_at: saidAt.toISOString(),
    silent_ms: Math.max(0, Math.round(silentMs)),
    clock_offset_ms: clockOffsetMs,
    started_at: report === null ? null : new Date(report.startedAtMs).toISOString(),
    version: report?.version ?? null,
    admin_address: report?.adminAddress ?? null,
    configuration: report?.configuration ?? null,
    prices: report?.prices ?? null,
    open_calls: report?.openCalls ?? null,
    journal_writable: report?.journalWritable ?? null,
    disk_bytes: report?.diskBytes ?? null,
    disk_free_bytes: report?.diskFreeBytes ?? null,
    certificate_ends_at:
      report?.certificateEndsAtMs == null ? null : new Date(report.certificateEndsAtMs).toISOString(),
    shards: report?.shards ?? [],
    upstreams: (report?.upstreams ?? []).map(
      ({ upstream, calls, failures, failedInARow, refusesCredential }) => ({
        upstream,
        calls,
        failures,
        failed_in_a_row: failedInARow,
        refuses_credential: refusesCredential,
      }),
    ),
  }
}
