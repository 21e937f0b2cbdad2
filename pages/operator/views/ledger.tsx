import type { ComponentChildren } from 'preact'
import { Action } from '../../shared/action.tsx'
import { pathPart } from '../../shared/address.ts'
import { useAnswer } from '../../shared/context.tsx'
import { bytes, count, milliseconds, moment } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { DeadLetter, Gap, Health, Ledger, Process } from '../answers.ts'
import { Checks } from '../parts/checks.tsx'
import { Verify } from '../parts/verify.tsx'

/** Whether anything is lost or waits, what runs, and what is wrong. */
export function LedgerView() {
  const health = useAnswer<Health>('doctor', {}, 30_000).data
  return (
    <>
      <Part<Ledger> title="Ledger" path="ledger" everyMs={10_000}>
        {(ledger) => <LedgerTiles ledger={ledger} checks={health?.checks ?? []} />}
      </Part>
      <Verify />
      <Part<Health> title="Checks" path="doctor">
        {({ checks }) => <Checks checks={checks} />}
      </Part>
      <Part<readonly Process[]>
        title="Gateways and workers, and upstreams as they see them"
        path="gateways"
        everyMs={10_000}
      >
        {(processes) => (
          <>
            <Processes processes={processes} />
            <Upstreams processes={processes} />
          </>
        )}
      </Part>
      <Part<readonly Gap[]> title="Gaps" path="ledger/gaps" everyMs={60_000}>
        {(gaps) => (
          <Table
            label="Gaps"
            empty="No record is missing."
            rows={gaps}
            columns={[
              { heading: 'Gateway', cell: ({ producer }) => <Name of={producer} /> },
              { heading: 'Records', cell: ({ records }) => count(records) },
              { heading: 'From', kind: 'extra', cell: ({ from }) => count(from) },
              { heading: 'Why', kind: 'text', cell: ({ reason }) => reason },
              { heading: 'Found', cell: ({ recorded_at: at }) => moment(at) },
            ]}
          />
        )}
      </Part>
      <Part<readonly DeadLetter[]> title="Dead letters" path="dead-letters" everyMs={60_000}>
        {(letters) => (
          <Table
            label="Dead letters"
            empty="Every record was counted."
            rows={letters}
            columns={[
              { heading: 'Record', cell: ({ id, message }) => <Name of={id} detail={message} /> },
              { heading: 'Bytes', cell: ({ bytes: size }) => bytes(size) },
              { heading: 'Since', cell: ({ at }) => moment(at) },
              {
                heading: 'Change',
                cell: ({ id }) => (
                  <Action
                    label="Count it"
                    path="dead-letters/retry"
                    fixed={{ id }}
                    says="It is counted after all, if what was wrong with it is repaired."
                  />
                ),
              },
            ]}
          />
        )}
      </Part>
    </>
  )
}

interface LedgerTilesProps {
  readonly ledger: Ledger
  readonly checks: Health['checks']
}

/** Whether all is well says `doctor`, by the names of its lines: a tile shows the worst of its own. */
function LedgerTiles({ ledger, checks }: LedgerTilesProps) {
  const { gateway, streams, gaps, dead_letters: letters } = ledger
  const waiting = streams.reduce((sum, { waiting: of }) => sum + (of ?? 0), 0)
  const isRedisAway = streams.some(({ waiting: of }) => of === null)
  const oldest = Math.max(gateway?.oldest_uncommitted_ms ?? 0, ...streams.map(({ oldest_ms: ms }) => ms ?? 0))
  const adopted = gateway?.adopted ?? 0
  const tiles: readonly (readonly [string, string, readonly string[], string])[] = [
    [
      'Waiting records',
      count(gateway?.uncommitted_records ?? 0),
      ['backlog'],
      isRedisAway ? 'Redis does not answer' : `${count(waiting)} in Redis, of all gateways`,
    ],
    ['Lag', milliseconds(oldest), ['backlog', 'workers'], 'the oldest record that waits'],
    ['Gaps', count(gaps), ['gaps'], 'no record is missing'],
    ['Dead letters', count(letters), ['dead letters'], 'every record was counted'],
    [
      'Journal',
      bytes(gateway?.uncommitted_bytes ?? 0),
      ['journals', 'disks'],
      adopted > 0 ? `${count(adopted)} adopted from dead gateways` : 'takes what is written',
    ],
    ['Open calls', count(gateway?.open_calls ?? 0), [], 'through this gateway'],
  ]
  return (
    <dl class="tiles">
      {tiles.map(([label, value, lines, detail]) => {
        const found = checks.find(({ name, state }) => lines.includes(name) && state !== 'ok')
        return (
          <div key={label} class={`tile ${found?.state ?? 'ok'}`}>
            <dt>{label}</dt>
            <dd>{value}</dd>
            <dd class="detail">{found?.detail ?? detail}</dd>
          </div>
        )
      })}
    </dl>
  )
}

function Processes({ processes }: { readonly processes: readonly Process[] }) {
  return (
    <Table
      label="Gateways and workers"
      empty="No process has said anything of itself within a day."
      rows={processes}
      columns={[
        {
          heading: 'Process',
          cell: ({ process, kind, version }) => (
            <Name of={process} detail={[kind, version].filter((part) => part !== null).join(' · ')} />
          ),
        },
        { heading: 'Said so', cell: ({ silent_ms: ms }) => `${milliseconds(ms)} ago` },
        {
          heading: 'Runs since',
          kind: 'extra',
          cell: ({ started_at: at }) => (at === null ? '–' : moment(at)),
        },
        { heading: 'Open calls', cell: ({ open_calls: calls }) => (calls === null ? '–' : count(calls)) },
        { heading: 'Disk left', kind: 'extra', cell: diskText },
        {
          heading: 'Clock off',
          kind: 'extra',
          cell: ({ clock_offset_ms: ms }) => (ms === null ? '–' : milliseconds(ms)),
        },
        {
          heading: 'Change',
          cell: ({ process }) => (
            <Action
              label="Drop"
              method="DELETE"
              path={`processes/${pathPart(process)}`}
              says={`${process} is silent and does not come back: it is listed no more.`}
              isGrave
            />
          ),
        },
      ]}
    />
  )
}

function diskText({ disk_free_bytes: free, disk_bytes: all }: Process): ComponentChildren {
  return free === null || all === null ? '–' : `${bytes(free)} of ${bytes(all)}`
}

function Upstreams({ processes }: { readonly processes: readonly Process[] }) {
  const rows = processes.flatMap(({ process, upstreams }) => upstreams.map((one) => ({ process, ...one })))
  return (
    <Table
      label="Upstreams"
      empty="No gateway has called an upstream."
      rows={rows}
      columns={[
        { heading: 'Upstream', cell: ({ upstream, process }) => <Name of={upstream} detail={process} /> },
        { heading: 'Calls', cell: ({ calls }) => count(calls) },
        {
          heading: 'Failures',
          kind: 'text',
          cell: ({ failures }) =>
            Object.entries(failures)
              .map(([kind, calls]) => `${calls} ${kind.replaceAll('_', ' ')}`)
              .join(', ') || 'none',
        },
        {
          heading: 'State',
          kind: 'text',
          cell: ({ circuit, refuses_credential: isRefused }) =>
            isRefused ? 'refuses its credential' : circuit === 'closed' ? 'ok' : circuit.replaceAll('_', ' '),
        },
      ]}
    />
  )
}
