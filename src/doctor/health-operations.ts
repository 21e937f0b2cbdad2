import { z } from 'zod'
import type { Finding } from '../domain/conditions/finding.ts'
import {
  shownCount,
  shownCountOrNull,
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../operations/answers.ts'
import { type Chapter, renderedOperation } from '../operations/operation.ts'
import type { Ports } from '../operations/ports.ts'
import { inColour, printable } from '../operations/table.ts'
import { type Heartbeat, selectHeartbeats } from '../store/processes/processes-table.ts'
import { renderFindings } from './run-checks.ts'

/** What inspects everything that can be wrong. */
export interface DoctorPorts extends Ports {
  inspect(): Promise<readonly Finding[]>
}

const FINDING = shownDocument('Finding', {
  name: shownText('What was looked at.'),
  state: z.enum(['ok', 'note', 'wrong']),
  detail: shownText('What was found.'),
  mend: shownTextOrNull('What to do about it.'),
})

const EXAMINATION = shownDocument('Examination', {
  ok: shownFlag('Nothing is wrong.'),
  node: shownText('The version of Node.'),
  checks: shownList(FINDING),
})

const PROCESS = shownDocument('Process', {
  process: shownText('host:pid.'),
  kind: z.enum(['gateway', 'worker']),
  said_at: shownMoment('The time at which it last said this.'),
  silent_ms: shownCount('Since then.'),
  clock_offset_ms: z.number().nullable().describe("How far Postgres's clock is ahead. null: not known."),
  started_at: shownMomentOrNull('null: it is of another release, and so is all that follows.'),
  version: shownTextOrNull('Its release.'),
  admin_address: shownTextOrNull("The address of the operator's listener. null: it has none."),
  configuration: shownTextOrNull('A hash of what gateways have alike.'),
  prices: shownTextOrNull('A hash of what it prices by.'),
  open_calls: shownCountOrNull('Calls under way.'),
  journal_writable: z.boolean().nullable().describe('Whether the disk takes what is written.'),
  disk_bytes: shownCountOrNull('The size of the disk of the journal.'),
  disk_free_bytes: shownCountOrNull('What is free of it.'),
  certificate_ends_at: shownMomentOrNull('The end of the certificate for clients. null: plain HTTP.'),
  shards: shownList(shownText('A stream that it writes to, or counts.')),
  upstreams: shownList(
    z.strictObject({
      upstream: shownText('Its name in the configuration.'),
      calls: shownCount('Calls of the last five minutes.'),
      failures: z
        .record(z.string(), shownCount('Calls that failed.'))
        .describe('By cause: dns, connect_refused, credential_refused, rate_limited, server_error, ....'),
      failed_in_a_row: shownCount('Failures since the last call that succeeded.'),
      refuses_credential: shownFlag("It refuses the gateway's key."),
      circuit: z
        .enum(['closed', 'open', 'half_open'])
        .describe('open: calls by routes go elsewhere first. half_open: one of them tries it again.'),
    }),
  ),
})

export const doctorOperation = renderedOperation({
  name: 'doctor',
  summary: 'Shows what is reachable, what is wrong, and what to do about it.',
  role: 'read',
  http: { method: 'GET', path: '/doctor', id: 'examine' },
  input: {},
  answer: EXAMINATION,
  gives: 'The findings.',
  run: ({ inspect }: DoctorPorts) => inspect(),
  render: renderFindings,
  command: {
    words: 'doctor',
    print: findingsText,
    exitCode: (findings) => (renderFindings(findings).ok ? 0 : 1),
  },
})

export const listProcesses = renderedOperation({
  name: 'gateways.list',
  summary: 'Shows what gateways and workers last said of themselves, within a day.',
  role: 'read',
  http: { method: 'GET', path: '/gateways', id: 'listProcesses' },
  input: {},
  answer: shownList(PROCESS),
  gives: 'The processes.',
  run: ({ pool }: Ports) => selectHeartbeats(pool),
  render: (processes: readonly Heartbeat[]) => processes.map(renderHeartbeat),
  command: {
    words: 'gateways list',
    print: {
      empty: 'No gateway or worker has said anything within a day.',
      columns: [
        { heading: 'PROCESS', cell: ({ process }) => process },
        { heading: 'KIND', cell: ({ kind }) => kind },
        { heading: 'VERSION', cell: ({ report }) => report?.version ?? '?' },
        { heading: 'SAID AT', cell: ({ saidAt }) => saidAt.toISOString() },
        { heading: 'STARTED', cell: ({ report }) => momentText(report?.startedAtMs) },
        { heading: 'OPEN CALLS', align: 'right', cell: ({ report }) => `${report?.openCalls ?? ''}` },
        { heading: 'OPEN CIRCUITS', cell: ({ report }) => openCircuits(report) },
        { heading: 'OPERATORS', cell: ({ report }) => report?.adminAddress ?? '' },
      ],
    },
  },
})

export const DOCTOR_CHAPTER: Chapter<DoctorPorts> = {
  words: 'doctor',
  about: 'Whether everything works.',
  operations: [doctorOperation],
}

export const GATEWAYS_CHAPTER: Chapter<Ports> = {
  words: 'gateways',
  about: 'Gateways and workers, as they last said of themselves.',
  operations: [listProcesses],
}

const STATE_LABELS: Readonly<Record<Finding['state'], string>> = {
  ok: 'ok   ',
  note: 'note ',
  wrong: 'WRONG',
}

function findingsText(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings
    .map(({ name, state, detail, mend }) => {
      const advice = mend === null ? '' : ` -> ${mend}`
      const label = STATE_LABELS[state]
      return `${inColour(label, label.trim())}  ${printable(`${name.padEnd(width)}  ${detail}${advice}`)}`
    })
    .join('\n')
}

/** The upstreams that calls by routes go around. */
function openCircuits(report: Heartbeat['report']): string {
  const open = report?.upstreams.filter(({ circuit }) => circuit !== 'closed') ?? []
  return open.map(({ upstream }) => upstream).join(', ')
}

function momentText(atMs: number | null | undefined): string {
  return atMs == null ? '' : new Date(atMs).toISOString()
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
      ({ upstream, calls, failures, failedInARow, refusesCredential, circuit }) => ({
        upstream,
        calls,
        failures,
        failed_in_a_row: failedInARow,
        refuses_credential: refusesCredential,
        circuit,
      }),
    ),
  }
}
