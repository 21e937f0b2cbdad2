import { setTimeout as delay } from 'node:timers/promises'
import {
  shownChoice,
  shownDocument,
  shownFlag,
  shownList,
  shownText,
  shownTextOrNull,
} from '../operations/answers.ts'
import { textField } from '../operations/fields.ts'
import { type Chapter, operation } from '../operations/operation.ts'
import type { Ports } from '../operations/ports.ts'
import { conflict, notFound } from '../operations/refuse.ts'
import {
  ANNOUNCE_MS,
  askForReload,
  dismissProcess,
  HEARTBEAT_LATE_MS,
  type Heartbeat,
  selectHeartbeats,
} from '../store/processes/processes-table.ts'

const dismiss = operation({
  name: 'processes.dismiss',
  summary: 'Drops a gateway or worker that is silent and does not come back.',
  description: 'Without it doctor names one that was killed for a day. Its journal is not touched.',
  role: 'write',
  http: { method: 'DELETE', path: '/processes/{process}', id: 'dismissProcess' },
  input: { process: textField('host:pid, as gateways list and doctor show it.', 'process') },
  answer: shownDocument('DismissedProcess', {
    process: shownText('host:pid.'),
    dismissed: shownFlag('It is named no longer.'),
  }),
  gives: 'What was dropped.',
  errors: ['not_found', 'conflict'],
  changes: {
    event: 'admin.process_dismissed',
    says: 'a silent process was dropped',
    log: ({ process }) => ({ process }),
  },
  async run({ pool }: Ports, { process }) {
    if (await dismissProcess(pool, process)) return { process, dismissed: true }
    const known = (await selectHeartbeats(pool)).find((one) => one.process === process)
    if (known === undefined)
      throw notFound(`There is no process ${process}.`, undefined, 'gateways list shows them')
    throw conflict(
      `${process} runs: it said so ${Math.max(0, Math.round(known.silentMs / 1000))} s ago, so stop it first.`,
    )
  },
  command: {
    words: 'processes dismiss',
    print: ({ process }) =>
      `${process} is named no longer. A journal that it left is counted by a gateway on its disk.`,
  },
})

const RESULTS = ['taken', 'refused', 'silent'] as const

/** What a gateway made of the wish. */
export interface ReloadOutcome {
  readonly process: string
  readonly result: (typeof RESULTS)[number]
  readonly problem: string | null
}

/** A gateway says what it made of it with the next two things that it says. */
const PATIENCE_MS = 3 * ANNOUNCE_MS
const POLL_MS = 250

/**
 * Asks all gateways that run to read configuration and certificates again, and waits until each has said what it made
 * of that, but not for long.
 */
async function reloadGateways(pool: Ports['pool']): Promise<readonly ReloadOutcome[]> {
  const askedAtMs = (await askForReload(pool)).getTime()
  const asked = await selectGateways(pool)
  if (asked.length === 0) throw conflict('No gateway runs: one that starts reads its configuration then.')
  const endMs = performance.now() + PATIENCE_MS
  for (;;) {
    const now = new Map((await selectGateways(pool)).map((one) => [one.process, one]))
    const outcomes = asked.map(({ process }) => outcomeOf(process, now.get(process), askedAtMs))
    if (outcomes.every(({ result }) => result !== 'silent') || performance.now() >= endMs) return outcomes
    await delay(POLL_MS)
  }
}

async function selectGateways(pool: Ports['pool']): Promise<readonly Heartbeat[]> {
  const heartbeats = await selectHeartbeats(pool)
  return heartbeats.filter(({ kind, silentMs }) => kind === 'gateway' && silentMs <= HEARTBEAT_LATE_MS)
}

const SILENT =
  'it did not say so in time: it is of an older release, or does not reach PostgreSQL; send it SIGHUP or restart it'

function outcomeOf(process: string, one: Heartbeat | undefined, askedAtMs: number): ReloadOutcome {
  const said = one?.report?.reload ?? null
  if (said === null || said.askedAtMs < askedAtMs) return { process, result: 'silent', problem: SILENT }
  return { process, result: said.problem === null ? 'taken' : 'refused', problem: said.problem }
}

const reload = operation({
  name: 'gateways.reload',
  summary: 'Has all gateways that run read their configuration and certificates again.',
  description:
    'Each reads its own TALLYGATE_CONFIG. One that finds anything wrong in it keeps what it has, and says why.',
  role: 'admin',
  http: { method: 'POST', path: '/gateways/reload', id: 'reloadGateways' },
  input: {},
  answer: shownList(
    shownDocument('ReloadedGateway', {
      process: shownText('host:pid.'),
      result: shownChoice(RESULTS, 'Whether it took them. silent: it has not said so within 15 s.'),
      problem: shownTextOrNull('Why not. null: it did.'),
    }),
  ),
  gives: 'What each gateway made of it.',
  errors: ['conflict'],
  changes: {
    event: 'admin.reload_asked',
    says: 'gateways read their configuration again',
    inParts: true,
    log: (outcomes) => ({ taken: outcomes.filter(({ result }) => result === 'taken').length }),
  },
  run: ({ pool }: Ports) => reloadGateways(pool),
  command: {
    words: 'reload',
    print: (outcomes) =>
      outcomes
        .map(({ process, result, problem }) =>
          result === 'taken' ? `gateway ${process} has read them` : `gateway ${process} has not: ${problem}`,
        )
        .join('\n'),
    exitCode: (outcomes) => (outcomes.every(({ result }) => result === 'taken') ? 0 : 1),
  },
})

export const PROCESS_CHAPTERS: readonly Chapter<Ports>[] = [
  { words: 'reload', about: 'Has gateways read their configuration again.', operations: [reload] },
  { words: 'processes', about: 'Gateways and workers that are gone.', operations: [dismiss] },
]
