import type { ComponentChildren } from 'preact'
import type { Query } from './address.ts'
import { choose } from './context.tsx'
import { Choice, type Option, optionOf } from './controls.tsx'
import { changeText, exactUsd, usd } from './format.ts'

/** Periods that are chosen by one click. Others stand in the address as `from` and `to`. */
export const PERIODS: readonly Option[] = [
  { value: 'today', label: 'Today' },
  { value: 'yesterday', label: 'Yesterday' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
  { value: '90d', label: '90 days' },
  { value: 'month', label: 'Month to date' },
  { value: 'last_month', label: 'Last month' },
]

export function PeriodChoice({
  chosen,
  of = PERIODS,
}: {
  readonly chosen: string
  readonly of?: readonly Option[]
}) {
  return (
    <Choice
      label="Period"
      options={of}
      chosen={chosen}
      onChoose={(period) => choose({ period, from: undefined, to: undefined })}
    />
  )
}

/** A choice of the address, under its name there. */
export function QueryChoice(props: {
  readonly label: string
  readonly name: string
  readonly values: readonly string[]
  readonly chosen: string
}) {
  const { label, name, values, chosen } = props
  return (
    <Choice
      label={label}
      options={values.map(optionOf)}
      chosen={chosen}
      onChoose={(value) => choose({ [name]: value })}
    />
  )
}

/** Money at a glance, with every digit for who points at it. */
export function Usd({ of }: { readonly of: number | string | null }) {
  if (of === null) return <>–</>
  return <span title={exactUsd(of)}>{usd(Number(of))}</span>
}

/** What is known of one thing, with its label; of what is `null` nothing is said. */
export function Facts({
  of,
}: {
  readonly of: readonly (readonly [label: string, value: string | number | null])[]
}) {
  return (
    <dl class="facts">
      {of.map(([label, value]) =>
        value === null ? null : (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <bdi>{value}</bdi>
            </dd>
          </div>
        ),
      )}
    </dl>
  )
}

interface TileProps {
  readonly label: string
  readonly href?: string
  readonly children: ComponentChildren
  /** The same figure, of now and of the period before, where both are known. */
  readonly now?: number | null | undefined
  readonly before?: number | null | undefined
  readonly beforeText?: string | undefined
  readonly detail?: string
  /** Whether more of it is bad. */
  readonly isBad?: boolean
}

/** A figure beside the one of the period before. */
export function Tile({ label, href, children, now, before, beforeText, detail, isBad = false }: TileProps) {
  const change = now == null || before == null ? null : changeText(now, before)
  const isWorse = isBad && now != null && before != null && now > before
  return (
    <div class="tile">
      <dt>{href === undefined ? label : <a href={href}>{label}</a>}</dt>
      <dd class="amount">{children}</dd>
      <dd class="detail">
        {change !== null && <b class={isWorse ? 'worse' : undefined}>{change}</b>}
        {beforeText !== undefined && ` before: ${beforeText}`}
        {detail !== undefined && ` ${detail}`}
      </dd>
    </div>
  )
}

/** A UTC month, in the address. */
export function MonthField({ month }: { readonly month: string }) {
  return (
    <label class="field">
      <span>Month</span>
      <input
        type="month"
        value={month}
        onChange={({ currentTarget: { value } }) => choose({ month: value })}
      />
    </label>
  )
}

/** An end of the days that are chosen, in the address. */
export function DayField({
  label,
  name,
  query,
}: {
  readonly label: string
  readonly name: string
  readonly query: Query
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="date"
        value={query[name] ?? ''}
        onChange={({ currentTarget: { value } }) =>
          choose({
            period: undefined,
            hours: undefined,
            [name]: value,
            // An end without a beginning is refused.
            ...(name === 'to' && query.from === undefined ? { from: value } : {}),
          })
        }
      />
    </label>
  )
}
