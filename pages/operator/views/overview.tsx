import { linkTo } from '../../shared/address.ts'
import { address, useAnswer } from '../../shared/context.tsx'
import { PeriodChoice, QueryChoice, Tile, Usd } from '../../shared/figures.tsx'
import { count, milliseconds, percent, plural, roughly, usd } from '../../shared/format.ts'
import { Part } from '../../shared/part.tsx'
import type { Health, Limit, Report } from '../answers.ts'
import { forecastMonth } from '../forecast.ts'
import { BudgetTable } from '../parts/budget-table.tsx'
import { ChangeTable } from '../parts/change-table.tsx'
import { CostTable } from '../parts/cost-table.tsx'
import { ReportChart } from '../parts/report-chart.tsx'

/** While calls are counted each of these reads totals again: what a tab left open asks is bounded by it. */
const SELDOM_MS = 60_000

/** Who spends what, what changed, and what to do about it. */
export function Overview() {
  const { period = '30d', group = 'client' } = address.value.query
  const choices = { period, compare: 'previous' }
  const by = group === 'model' ? 'model' : 'client'
  return (
    <>
      <div class="controls">
        <PeriodChoice chosen={period} />
      </div>
      <Part<Report>
        title="Cost per UTC day"
        path="report"
        choices={{ ...choices, interval: 'day', group_by: by, top: 8, limit: 8 }}
        actions={<QueryChoice label="Stacked by" name="group" values={['client', 'model']} chosen={by} />}
      >
        {(report) => (
          <>
            <Totals report={report} />
            <ReportChart report={report} group={by} measure="cost" interval="day" />
            <CostTable label="Most cost" empty="Nothing was used in these days." report={report} group={by} />
          </>
        )}
      </Part>
      <Banners />
      <div class="columns">
        <ChangeTable title="Grew most" choices={choices} order="desc" />
        <ChangeTable title="Fell most" choices={choices} order="asc" />
      </div>
      <div class="columns">
        <MonthToDate />
        <Part<readonly Limit[]>
          title="Budgets nearest their end"
          path="limits"
          choices={{ sort: 'used', limit: 6 }}
          everyMs={SELDOM_MS}
          actions={<a href={linkTo('limits')}>All limits</a>}
        >
          {(limits) => <BudgetTable limits={limits} />}
        </Part>
      </div>
    </>
  )
}

/** Cost and requests of both periods are in one report; what else is compared takes the other period's own. */
function Totals({ report }: { readonly report: Report }) {
  const { totals, period, before } = report
  const was = totals.before
  const asked = { from: period.from, to: period.to }
  return (
    <dl class="tiles">
      <Tile
        label="Cost"
        href={linkTo('explore', { ...asked, compare: 'previous' })}
        now={totals.cost_usd}
        before={was?.cost_usd}
        beforeText={was && usd(was.cost_usd)}
      >
        <Usd of={totals.cost_usd_text} />
      </Tile>
      <Tile
        label="Requests"
        href={linkTo('explore', { ...asked, measure: 'requests', sort: 'requests' })}
        now={totals.requests}
        before={was?.requests}
        beforeText={was && roughly(was.requests)}
      >
        <span title={count(totals.requests)}>{roughly(totals.requests)}</span>
      </Tile>
      <Tile
        label="Errors"
        href={linkTo('explore', { ...asked, measure: 'errors', sort: 'errors' })}
        now={totals.errors}
        before={was?.errors}
        beforeText={was && `${count(was.errors)} (${percent(was.errors, was.requests)})`}
        isBad
      >
        <span title={percent(totals.errors, totals.requests)}>{count(totals.errors)}</span>
      </Tile>
      {before !== undefined && <BeforeTiles report={report} before={before} />}
    </dl>
  )
}

function BeforeTiles({ report, before }: { readonly report: Report; readonly before: Report['period'] }) {
  const { totals, period } = report
  const was = useAnswer<Report>('report', { from: before.from, to: before.to }, SELDOM_MS).data?.totals
  const asked = { from: period.from, to: period.to }
  return (
    <>
      <Tile
        label="p95 latency"
        href={linkTo('explore', { ...asked, group_by: 'model', sort: 'p95' })}
        now={totals.p95_ms}
        before={was?.p95_ms}
        beforeText={was?.p95_ms == null ? undefined : milliseconds(was.p95_ms)}
        isBad
      >
        {totals.p95_ms === null ? '–' : milliseconds(totals.p95_ms)}
      </Tile>
      <Tile
        label="Refused"
        href={linkTo('limits', {})}
        now={totals.refused}
        before={was?.refused}
        beforeText={was?.refused == null ? undefined : count(was.refused)}
        isBad
      >
        {totals.refused === null ? '–' : count(totals.refused)}
      </Tile>
      <Tile
        label="Unpriced"
        href={linkTo('prices')}
        now={totals.unpriced}
        before={was?.unpriced}
        beforeText={was && count(was.unpriced)}
        isBad
      >
        {count(totals.unpriced)}
      </Tile>
    </>
  )
}

/** What `doctor` found, and what to do about it, the grave first. */
function Banners() {
  const { data: health, problem } = useAnswer<Health>('doctor', {}, SELDOM_MS)
  if (problem !== null) return <p class="notice note">What is wrong is not known: {problem}</p>
  const found = (health?.checks ?? []).filter(({ state }) => state !== 'ok')
  return (
    <>
      {(['wrong', 'note'] as const).map((state) => {
        const checks = found.filter((check) => check.state === state)
        return checks.length === 0 ? null : (
          <ul
            key={state}
            class={`notice ${state}`}
            aria-label={state === 'wrong' ? 'Wrong' : 'To be checked'}
          >
            {checks.map(({ name, detail, mend }) => (
              <li key={`${name} ${detail}`}>
                <a href={linkTo(name === 'prices' ? 'prices' : 'ledger')}>{name}</a>: {detail}{' '}
                {mend !== null && <em>{mend}</em>}
              </li>
            ))}
          </ul>
        )
      })}
    </>
  )
}

function MonthToDate() {
  return (
    <Part<Report>
      title="This month"
      path="report"
      choices={{ period: '90d', interval: 'day' }}
      everyMs={SELDOM_MS}
      actions={<a href={linkTo('explore', { period: 'month', compare: 'previous' })}>By client</a>}
    >
      {({ series, period }) => {
        const days = (series?.starts ?? []).map((day, index) => ({
          day,
          usd: series?.other.cost_usd[index] ?? 0,
        }))
        return <MonthTiles days={days} today={period.to} />
      }}
    </Part>
  )
}

interface MonthProps {
  readonly days: readonly { readonly day: string; readonly usd: number }[]
  readonly today: string
}

function MonthTiles({ days, today }: MonthProps) {
  const spent = days.filter(({ day }) => day.slice(0, 7) === today.slice(0, 7))
  const forecast = forecastMonth(days)
  return (
    <>
      <dl class="tiles">
        <Tile label="Month to date" detail={`${plural(spent.length, 'day')}, today so far`}>
          <Usd of={spent.reduce((sum, { usd: one }) => sum + one, 0)} />
        </Tile>
        <Tile
          label="At its end, about"
          detail={
            forecast === null
              ? 'needs three whole days'
              : `between ${usd(forecast.lowUsd)} and ${usd(forecast.highUsd)}`
          }
        >
          {forecast === null ? '–' : <Usd of={forecast.expectedUsd} />}
        </Tile>
      </dl>
      <details>
        <summary>How this is reckoned</summary>
        <p class="quiet">
          To what the month has cost, each day that is left adds the mean of its weekday over the last four
          weeks. Today counts with the more of its cost so far and that mean. The range is as wide as single
          days differed from their weekday: four in five months end within it, if the next days are like the
          last. {forecast !== null && `It is from ${plural(forecast.fromDays, 'whole day')}.`}
        </p>
      </details>
    </>
  )
}
