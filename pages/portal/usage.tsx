import { type Choices, withChoices } from '../shared/address.ts'
import { Chart } from '../shared/chart.tsx'
import { address, useTools } from '../shared/context.tsx'
import { PeriodChoice, QueryChoice, Tile, Usd } from '../shared/figures.tsx'
import {
  count,
  milliseconds,
  plural,
  roughly,
  shortDay,
  tickUsd,
  titled,
  usd,
  words,
} from '../shared/format.ts'
import { Name, Part, Share } from '../shared/part.tsx'
import { save, Table } from '../shared/table.tsx'
import { useAccount } from './account.ts'
import type { OwnKey, OwnLimit, OwnRefused, OwnUsage, OwnUsageRow } from './answers.ts'
import { Calls } from './calls.tsx'
import { Keys } from './keys.tsx'
import { Models } from './models.tsx'

const PERIODS = [
  { value: 'today', label: 'Today' },
  { value: 'month', label: 'This month' },
  { value: '30d', label: '30 days' },
]
const QUERIES: Readonly<Record<string, Choices>> = {
  today: { days: 1 },
  month: { period: 'month' },
  '30d': { days: 30 },
}
const CHART_DAYS = 30
/** The page is read, and not watched. */
const EVERY_MS = 60_000

const MEASURES = {
  cost: { of: (row: OwnUsageRow) => row.cost_usd, format: usd, tick: tickUsd },
  requests: { of: (row: OwnUsageRow) => row.requests, format: count, tick: roughly },
  tokens: { of: (row: OwnUsageRow) => row.total_tokens, format: roughly, tick: roughly },
} as const

/** What a client used, what is left of its limits, and why calls were refused. */
export function Usage() {
  useAccount()
  const { query } = address.value
  const period = query.period !== undefined && Object.hasOwn(QUERIES, query.period) ? query.period : 'month'
  const group = query.group === 'key' ? 'key' : 'model'
  const measure = query.measure === 'requests' || query.measure === 'tokens' ? query.measure : 'cost'
  return (
    <>
      <div class="controls">
        <PeriodChoice chosen={period} of={PERIODS} />
      </div>
      <Part<OwnUsage> title="Used" path="usage" choices={QUERIES[period] ?? {}} everyMs={EVERY_MS}>
        {(usage) => <Totals usage={usage} />}
      </Part>
      <Part<readonly OwnLimit[]> title="What is left" path="limits" everyMs={EVERY_MS}>
        {(limits) => <Limits limits={limits} />}
      </Part>
      <Part<OwnUsage>
        title="By UTC day"
        path="usage"
        choices={{ days: CHART_DAYS, group_by: 'day' }}
        everyMs={EVERY_MS}
        actions={
          <QueryChoice
            label="Measure"
            name="measure"
            values={['cost', 'requests', 'tokens']}
            chosen={measure}
          />
        }
      >
        {({ data = [] }) => <Days rows={data} measure={measure} />}
      </Part>
      <Part<OwnUsage>
        title="Usage"
        path="usage"
        choices={{ ...QUERIES[period], group_by: group }}
        everyMs={EVERY_MS}
        actions={
          <>
            <QueryChoice label="Grouped by" name="group" values={['model', 'key']} chosen={group} />
            <Export period={period} />
          </>
        }
      >
        {({ data = [] }) => <Grouped rows={data} group={group} />}
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

function Totals({ usage }: { readonly usage: OwnUsage }) {
  return (
    <dl class="tiles">
      <Tile label="Cost" detail={`${plural(usage.period_days, 'day')}, today so far`}>
        <Usd of={usage.cost_usd} />
      </Tile>
      <Tile label="Requests">{count(usage.requests)}</Tile>
      <Tile label="Tokens" detail={`${roughly(usage.input_tokens)} in, ${roughly(usage.output_tokens)} out`}>
        {roughly(usage.total_tokens)}
      </Tile>
    </dl>
  )
}

function Days({
  rows,
  measure,
}: {
  readonly rows: readonly OwnUsageRow[]
  readonly measure: keyof typeof MEASURES
}) {
  const { of, format, tick } = MEASURES[measure]
  const byDay = new Map(rows.map((row) => [row.day, row]))
  const today = Date.now()
  const starts = Array.from({ length: CHART_DAYS }, (_, index) =>
    new Date(today - (CHART_DAYS - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  )
  const values = starts.map((day) => {
    const row = byDay.get(day)
    return row === undefined ? 0 : of(row)
  })
  return (
    <Chart
      label={`${measure} per UTC day`}
      starts={starts}
      series={[{ label: measure, values }]}
      isOpen
      format={format}
      tick={tick}
    />
  )
}

const GROUP_NAMES = {
  model: (row: OwnUsageRow) => <Name of={row.model ?? null} />,
  key: (row: OwnUsageRow) => <Name of={row.key_name ?? row.key_id ?? null} detail={row.key_id ?? ''} />,
}

function Grouped({
  rows,
  group,
}: {
  readonly rows: readonly OwnUsageRow[]
  readonly group: 'model' | 'key'
}) {
  return (
    <Table
      label="Usage"
      empty="Nothing was used in these days."
      rows={rows.toSorted((a, b) => b.cost_usd - a.cost_usd || b.requests - a.requests).slice(0, 50)}
      columns={[
        { heading: titled(group), cell: GROUP_NAMES[group] },
        { heading: 'Requests', cell: ({ requests }) => count(requests) },
        { heading: 'Input', kind: 'extra', cell: ({ input_tokens: tokens }) => roughly(tokens) },
        { heading: 'Output', kind: 'extra', cell: ({ output_tokens: tokens }) => roughly(tokens) },
        { heading: 'Cost', kind: 'main', cell: ({ cost_usd: cost }) => <Usd of={cost} /> },
      ]}
    />
  )
}

/** The days that are seen, as `usage export` writes them. */
function Export({ period }: { readonly period: string }) {
  const { api } = useTools()
  async function download(): Promise<void> {
    const days = period === 'today' ? 1 : period === 'month' ? new Date().getUTCDate() : CHART_DAYS
    const to = new Date().toISOString().slice(0, 10)
    const from = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10)
    save(`usage-${from}-${to}.csv`, await api.file(withChoices('usage/export', { from, to })))
  }
  return (
    <button type="button" class="plain link" onClick={() => void download()}>
      Download CSV
    </button>
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
