import { withChoices } from '../shared/address.ts'
import { address, useTools } from '../shared/context.tsx'
import { PERIODS, PeriodChoice, QueryChoice, Tile, Usd } from '../shared/figures.tsx'
import { count, milliseconds, percent, roughly, shortDay, usd, words } from '../shared/format.ts'
import { groupOf, shownName, titleOf } from '../shared/groups.ts'
import { Name, Part, Share } from '../shared/part.tsx'
import { measureOf, SeriesChart } from '../shared/series-chart.tsx'
import { save, Table } from '../shared/table.tsx'
import { useAccount } from './account.ts'
import type { OwnKey, OwnLimit, OwnRefused, OwnReport } from './answers.ts'
import { Calls } from './calls.tsx'
import { Keys } from './keys.tsx'
import { Models } from './models.tsx'

/** The page is read, and not watched. */
const EVERY_MS = 60_000
const ROWS = 50
const FIGURES = ['cost', 'requests', 'tokens', 'errors'] as const

/** What a client used, what is left of its limits, and why calls were refused. */
export function Usage() {
  useAccount()
  const { query } = address.value
  const period = PERIODS.some(({ value }) => value === query.period) ? query.period : 'month'
  const group = query.group === 'key' ? 'key' : 'model'
  const measure = measureOf(query.measure)
  const { sort = 'cost', order = 'desc', cursor } = query
  return (
    <>
      <div class="controls">
        <PeriodChoice chosen={period ?? ''} />
      </div>
      <Part<OwnReport>
        title="Used"
        path="report"
        choices={{
          ...{ period, sort, order, cursor, compare: 'previous', group_by: group, limit: ROWS },
          ...(cursor === undefined ? { interval: 'day', top: 8 } : {}),
        }}
        everyMs={EVERY_MS}
        actions={
          <>
            <QueryChoice label="Measure" name="measure" values={FIGURES} chosen={measure} />
            <QueryChoice label="Grouped by" name="group" values={['model', 'key']} chosen={group} />
          </>
        }
      >
        {(report, { next }) => (
          <>
            <Totals report={report} />
            <SeriesChart
              report={report}
              named={(one) => ({ label: shownName(groupOf(one, group).name) })}
              measure={measure}
              interval="day"
            />
            <Table
              label="Usage"
              empty="Nothing was used in these days."
              rows={report.rows}
              sorted={{ by: sort, order }}
              next={next}
              columns={[
                {
                  heading: titleOf(group),
                  cell: (row) => {
                    const { name, id } = groupOf(row, group)
                    return (
                      <>
                        <Name of={name} detail={group === 'key' ? id : ''} />
                        <Share of={row.share ?? 0} />
                      </>
                    )
                  },
                },
                { heading: 'Requests', sort: 'requests', cell: ({ requests }) => count(requests) },
                { heading: 'Errors', sort: 'errors', cell: ({ errors }) => count(errors) },
                {
                  heading: 'Refused',
                  sort: 'refused',
                  kind: 'extra',
                  cell: ({ refused }) => (refused === null ? '–' : count(refused)),
                },
                {
                  heading: 'Input',
                  sort: 'input_tokens',
                  kind: 'extra',
                  cell: ({ input_tokens: tokens }) => roughly(tokens),
                },
                {
                  heading: 'Output',
                  sort: 'output_tokens',
                  kind: 'extra',
                  cell: ({ output_tokens: tokens }) => roughly(tokens),
                },
                {
                  heading: 'Cost',
                  sort: 'cost',
                  kind: 'main',
                  cell: ({ cost_usd_text: cost }) => <Usd of={cost} />,
                },
              ]}
            />
            <Export days={report.period} />
          </>
        )}
      </Part>
      <Part<readonly OwnLimit[]> title="What is left" path="limits" everyMs={EVERY_MS}>
        {(limits) => <Limits limits={limits} />}
      </Part>
      <Calls />
      <Part<readonly OwnRefused[]>
        title="Refused calls"
        path="refused"
        choices={{ days: 30 }}
        everyMs={EVERY_MS}
      >
        {(refused) => (
          <Table
            label="Refused calls"
            empty="No call was refused in these days."
            rows={refused.toSorted((a, b) => (b.day ?? '').localeCompare(a.day ?? '')).slice(0, 50)}
            columns={[
              { heading: 'Day', cell: ({ day = '' }) => shortDay(day) },
              { heading: 'Why', kind: 'text', cell: ({ reason = '' }) => words(reason) },
              { heading: 'Calls', cell: ({ calls }) => count(calls) },
            ]}
          />
        )}
      </Part>
      <Models />
      <Part<readonly OwnKey[]> title="Keys" path="keys" everyMs={EVERY_MS}>
        {(keys) => <Keys keys={keys} nowMs={Date.now()} />}
      </Part>
    </>
  )
}

function Totals({ report: { totals } }: { readonly report: OwnReport }) {
  const { before: was } = totals
  return (
    <dl class="tiles">
      <Tile label="Cost" now={totals.cost_usd} before={was?.cost_usd} beforeText={was && usd(was.cost_usd)}>
        <Usd of={totals.cost_usd_text} />
      </Tile>
      <Tile
        label="Requests"
        now={totals.requests}
        before={was?.requests}
        beforeText={was && roughly(was.requests)}
      >
        {count(totals.requests)}
      </Tile>
      <Tile
        label="Tokens"
        now={totals.total_tokens}
        before={was?.total_tokens}
        beforeText={was && roughly(was.total_tokens)}
        detail={`${roughly(totals.input_tokens)} in, ${roughly(totals.output_tokens)} out`}
      >
        {roughly(totals.total_tokens)}
      </Tile>
      <Tile
        label="Errors"
        now={totals.errors}
        before={was?.errors}
        beforeText={was && `${count(was.errors)} (${percent(was.errors, was.requests)})`}
        isBad
      >
        {count(totals.errors)}
      </Tile>
    </dl>
  )
}

/** The days that are seen, as `usage export` writes them. */
function Export({ days }: { readonly days: OwnReport['period'] }) {
  const { api } = useTools()
  const { from, to } = days
  async function download(): Promise<void> {
    save(`usage-${from}-${to}.csv`, await api.file(withChoices('usage/export', { from, to })))
  }
  return (
    <p class="below">
      <button type="button" class="plain link" onClick={() => void download()}>
        Download CSV
      </button>
    </p>
  )
}

const PER = { day: 'a day', week: 'a week', month: 'a month', total: 'in all' }
const RATES = { requests: 'Requests a minute', tokens: 'Tokens a minute', concurrent: 'Calls at once' }

function Limits({ limits }: { readonly limits: readonly OwnLimit[] }) {
  const left = (limit: OwnLimit) =>
    isOfEach(limit)
      ? 1
      : limit.kind === 'budget'
        ? shareOf(limit.left_usd, limit.limit_usd)
        : shareOf(limit.remaining, limit.limit)
  return (
    <Table
      label="What is left"
      empty="There are no limits."
      rows={limits.toSorted((a, b) => left(a) - left(b))}
      columns={[
        {
          heading: 'Limit',
          cell: (limit) => (
            <>
              <Name
                of={nameOf(limit)}
                detail={[limit.group, subjectOf(limit), limit.model, limit.key_id]
                  .filter(Boolean)
                  .join(' · ')}
              />
              {left(limit) === 0 && <span class="badge">used up</span>}
              <Share of={1 - left(limit)} />
            </>
          ),
        },
        {
          heading: 'Left',
          cell: (limit) =>
            isOfEach(limit) ? (
              ''
            ) : limit.kind === 'budget' ? (
              <Usd of={limit.left_usd} />
            ) : (
              count(limit.remaining)
            ),
        },
        {
          heading: 'Of',
          kind: 'extra',
          cell: (limit) => (limit.kind === 'budget' ? <Usd of={limit.limit_usd} /> : count(limit.limit)),
        },
        { heading: 'Begins again', cell: beginsAgain },
      ]}
    />
  )
}

function shareOf(left: number, whole: number): number {
  return whole > 0 ? Math.min(1, Math.max(0, left / whole)) : 0
}

/** Each value of an axis has it, and its own left. */
function isOfEach({ axis, value }: OwnLimit): boolean {
  return axis !== undefined && value === null
}

function subjectOf({ axis, value }: OwnLimit): string {
  if (axis === undefined) return ''
  return value === null ? `each ${axis}` : `${axis} ${value}`
}

function nameOf(limit: OwnLimit): string {
  if (limit.kind !== 'budget') return RATES[limit.kind]
  return `${limit.soft ? 'Watched budget' : 'Budget'} ${PER[limit.per]}`
}

function beginsAgain(limit: OwnLimit): string {
  if (isOfEach(limit)) return ''
  if (limit.kind === 'budget')
    return limit.until === null ? 'never' : `${shortDay(limit.until.slice(0, 10))}, 00:00`
  return limit.reset_seconds > 0 ? `in ${milliseconds(Math.ceil(limit.reset_seconds) * 1_000)}` : 'now'
}
