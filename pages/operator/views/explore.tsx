import { type Choices, linkTo, type Query } from '../../shared/address.ts'
import { address, choose, useAnswer } from '../../shared/context.tsx'
import { Choice, Filter, optionOf, Select } from '../../shared/controls.tsx'
import { DayField, PeriodChoice, QueryChoice, Usd } from '../../shared/figures.tsx'
import { changeText, count, fullDay, milliseconds, moment, percent, roughly } from '../../shared/format.ts'
import { filterOf, GROUPS, type Group, groupOf, isAxis, titleOf } from '../../shared/groups.ts'
import { Name, Part, Share } from '../../shared/part.tsx'
import { MEASURES, measureOf } from '../../shared/series-chart.tsx'
import { type Column, Table } from '../../shared/table.tsx'
import type { Axis, Report, ReportRow } from '../answers.ts'
import { deeper, ReportChart } from '../parts/report-chart.tsx'

const EVERY_MS = 10_000
const ROWS = 50
const FIGURES = ['cost', 'requests', 'tokens', 'errors'] as const

/** The report query as controls, with its answer as chart and table. */
export function Explore() {
  const { query } = address.value
  const groups = (query.group_by ?? 'client').split(',').filter((one) => isGroup(one))
  const [group = null] = groups
  const measure = measureOf(query.measure)
  const interval = query.interval ?? 'day'
  const sort = query.sort ?? 'cost'
  const order = query.order ?? 'desc'
  const isCompared = query.compare === 'previous' || sort === 'change'
  const { from, to, q, cursor } = query
  const period = from === undefined ? (query.period ?? '30d') : undefined
  const filters = Object.fromEntries([...GROUPS, 'axis'].map((name) => [name, query[name]]))
  const asked: Choices = {
    ...{ period, from, to, q, cursor, sort, order },
    ...filters,
    compare: isCompared ? 'previous' : undefined,
    group_by: groups.length === 0 ? undefined : groups.join(','),
    limit: ROWS,
    ...(cursor === undefined ? { interval, top: 8 } : {}),
  }
  const title = `${MEASURES[measure].title} per UTC ${interval}`
  return (
    <>
      <Controls query={query} groups={groups} period={period ?? ''} isCompared={isCompared} />
      <Part<Report>
        title={title}
        path="report"
        choices={asked}
        everyMs={EVERY_MS}
        actions={
          <>
            <QueryChoice label="Measure" name="measure" values={FIGURES} chosen={measure} />
            <QueryChoice
              label="Interval"
              name="interval"
              values={['day', 'week', 'month']}
              chosen={interval}
            />
          </>
        }
      >
        {(report, { next }) => (
          <>
            <ReportChart report={report} group={group} measure={measure} interval={interval} />
            <p class="quiet">
              {fullDay(report.period.from)} to {fullDay(report.period.to)}
              {report.before !== undefined &&
                `, beside ${fullDay(report.before.from)} to ${fullDay(report.before.to)}`}
              {report.as_of !== null && `, as of ${moment(report.as_of)} UTC`}
            </p>
            <Table
              label="Report"
              empty="Nothing was used in these days."
              rows={groups.length === 0 ? [{ ...report.totals, share: 1 }] : report.rows}
              sorted={{ by: sort, order }}
              next={next}
              file={`report-${report.period.from}-${report.period.to}.csv`}
              columns={[
                ...groups.map((one) => nameColumn(one, query, report)),
                ...columnsOf(isCompared, query, groups, report),
              ]}
            />
          </>
        )}
      </Part>
    </>
  )
}

const NO_AXIS = { axis: undefined, group_by: undefined }
/** What no report by an axis takes is left out. */
const BY_AXIS = { axis: undefined, key: undefined, model: undefined, upstream: undefined, sort: undefined }

function isGroup(name: string): name is Group {
  return isAxis(name) || GROUPS.some((group) => group === name)
}

interface ControlsProps {
  readonly query: Query
  readonly groups: readonly Group[]
  readonly period: string
  readonly isCompared: boolean
}

function Controls({ query, groups, period, isCompared }: ControlsProps) {
  const [first = '', second = ''] = groups
  const asked = query.axis?.split('=')[0]
  const axis = groups.find(isAxis) ?? (asked === undefined ? null : (`axis:${asked}` as const))
  // Values of axes are kept by client alone, and so by group.
  const names = axis === null ? GROUPS : (['client', 'group'] as const)
  const options = [
    { value: '', label: 'nothing' },
    ...names.map(optionOf),
    ...(axis === null ? [] : [{ value: axis, label: axis.slice('axis:'.length) }]),
  ]
  const known = useAnswer<readonly Axis[]>('axes', {}, 300_000).data ?? []
  const ownAxis = axis?.slice('axis:'.length) ?? ''
  const axes = new Set(['', ...known.map(({ name }) => name), ownAxis])
  return (
    <div class="controls">
      <PeriodChoice chosen={period} />
      <DayField label="From" name="from" query={query} />
      <DayField label="To" name="to" query={query} />
      <Select
        label="By"
        options={options}
        chosen={first}
        onChoose={(group) => choose({ group_by: group || 'none' })}
      />
      {first !== '' && (
        <Select
          label="and by"
          options={options.filter(({ value }) => value !== first)}
          chosen={second}
          onChoose={(group) => choose({ group_by: group === '' ? first : `${first},${group}` })}
        />
      )}
      {axes.size > 1 && (
        <Select
          label="Axis"
          options={[...axes].map((name) => ({ value: name, label: name === '' ? 'none' : name }))}
          chosen={ownAxis}
          onChoose={(name) => choose(name === '' ? NO_AXIS : { ...BY_AXIS, group_by: `axis:${name}` })}
        />
      )}
      {axis !== null && (
        <Filter
          label="Its value"
          value={query.axis?.slice(ownAxis.length + 1) ?? ''}
          onChoose={(value) => choose(filterOf(axis, value))}
        />
      )}
      {names.map((group) => (
        <Filter
          key={group}
          label={group === 'key' ? 'Key id' : optionOf(group).label}
          value={query[group] ?? ''}
          onChoose={(value) => choose({ [group]: value })}
        />
      ))}
      <Filter label="Name has" value={query.q ?? ''} onChoose={(q) => choose({ q })} />
      <Choice
        label="Beside the time before"
        options={[
          { value: '', label: 'alone' },
          { value: 'previous', label: 'beside the time before' },
        ]}
        chosen={isCompared ? 'previous' : ''}
        onChoose={(compare) => choose({ compare, ...(query.sort === 'change' ? { sort: 'cost' } : {}) })}
      />
    </div>
  )
}

/** The first column leads deeper into a row, and a small link to its calls. */
function nameColumn(group: Group, query: Query, { period }: Report): Column<ReportRow> {
  return {
    heading: titleOf(group),
    cell: (row) => {
      const { name, id } = groupOf(row, group)
      const others = { ...query, cursor: undefined, q: undefined }
      return (
        <>
          {id === '' ? (
            <Name of={name} />
          ) : (
            <a
              href={linkTo('explore', {
                ...others,
                ...period,
                period: undefined,
                ...filterOf(group, id),
                ...deeper(group, query.group_by, id === query.group),
              })}
            >
              <Name of={name} detail={group === 'key' ? id : ''} />
            </a>
          )}
          <Share of={row.share ?? 0} />
        </>
      )
    },
    value: (row) => groupOf(row, group).name,
  }
}

function columnsOf(
  isCompared: boolean,
  query: Query,
  groups: readonly Group[],
  { period }: Report,
): readonly Column<ReportRow>[] {
  const time = (ms: number | null) => (ms === null ? '–' : milliseconds(ms))
  // Calls are not listed by values of axes, and not by groups of clients.
  const hasCalls =
    query.axis === undefined &&
    query.group === undefined &&
    !groups.some((group) => isAxis(group) || group === 'group')
  const callsOf = (row: ReportRow, choices: Choices = {}) =>
    linkTo('calls', {
      from: period.from,
      to: period.to,
      ...Object.fromEntries(GROUPS.map((group) => [group, query[group]])),
      ...Object.assign({}, ...groups.map((group) => filterOf(group, groupOf(row, group).id))),
      ...choices,
    })
  return [
    {
      heading: 'Cost',
      kind: 'main',
      sort: 'cost',
      cell: ({ cost_usd_text: cost }) => <Usd of={cost} />,
      value: ({ cost_usd_text: cost }) => cost,
    },
    ...(isCompared
      ? [
          {
            heading: 'Change',
            sort: 'change',
            cell: ({ before, cost_usd: cost }: ReportRow) => (
              <>
                <Usd of={before?.change_usd_text ?? null} />{' '}
                <small class="quiet">{changeText(cost, before?.cost_usd ?? 0)}</small>
              </>
            ),
            value: ({ before }: ReportRow) => before?.change_usd_text ?? null,
          },
        ]
      : []),
    {
      heading: 'Requests',
      sort: 'requests',
      cell: (row) => (hasCalls ? <a href={callsOf(row)}>{count(row.requests)}</a> : count(row.requests)),
      value: ({ requests }) => requests,
    },
    {
      heading: 'Errors',
      sort: 'errors',
      cell: (row) =>
        row.errors === 0 || !hasCalls ? (
          count(row.errors)
        ) : (
          <a href={callsOf(row, { failed: true })}>{count(row.errors)}</a>
        ),
      value: ({ errors }) => errors,
    },
    {
      heading: 'Error rate',
      sort: 'error_rate',
      kind: 'extra',
      cell: ({ errors, requests }) => percent(errors, requests),
      value: ({ errors, requests }) => (requests === 0 ? null : errors / requests),
    },
    ...TOKENS.map(
      ([heading, sort, field]): Column<ReportRow> => ({
        heading,
        sort,
        kind: 'extra',
        cell: (row) => roughly(row[field]),
        title: (row) => count(row[field]),
        value: (row) => row[field],
      }),
    ),
    {
      heading: 'p50',
      sort: 'p50',
      kind: 'extra',
      cell: ({ p50_ms: ms }) => time(ms),
      value: ({ p50_ms: ms }) => ms,
    },
    { heading: 'p95', sort: 'p95', cell: ({ p95_ms: ms }) => time(ms), value: ({ p95_ms: ms }) => ms },
    {
      heading: 'Unpriced',
      sort: 'unpriced',
      kind: 'extra',
      cell: ({ unpriced }) => (unpriced === 0 ? '0' : <a href={linkTo('prices')}>{count(unpriced)}</a>),
      value: ({ unpriced }) => unpriced,
    },
    {
      heading: 'Estimated',
      sort: 'estimated',
      kind: 'extra',
      cell: ({ estimated }) => count(estimated),
      value: ({ estimated }) => estimated,
    },
    {
      heading: 'Refused',
      sort: 'refused',
      kind: 'extra',
      cell: ({ refused }) =>
        refused === null ? '–' : refused === 0 ? '0' : <a href={linkTo('limits')}>{count(refused)}</a>,
      value: ({ refused }) => refused,
    },
  ]
}

const TOKENS = [
  ['Input', 'input_tokens', 'input_tokens'],
  ['Output', 'output_tokens', 'output_tokens'],
] as const
