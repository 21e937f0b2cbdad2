import type { ComponentChildren } from 'preact'
import { optionOf } from '../../shared/controls.tsx'
import { Usd } from '../../shared/figures.tsx'
import { count, moment } from '../../shared/format.ts'
import type { Limit, Tried } from '../answers.ts'

const PER = { day: 'a day', week: 'a week', month: 'a month', total: 'in all' }
const RATES = { requests: 'requests a minute', tokens: 'tokens a minute', concurrent: 'calls at once' }

export const PERIODS = [{ value: '', label: '–' }, ...Object.keys(PER).map(optionOf)]

/** What a limit allows. */
export function amountOf({ kind, limit }: Pick<Limit, 'kind' | 'limit'>): ComponentChildren {
  return kind === 'budget' ? <Usd of={`${limit}`} /> : count(Number(limit))
}

/** What of whom is limited. */
export function scopeOf(limit: Pick<Tried, 'kind' | 'per' | 'model' | 'key'> & Partial<Limit>): string {
  const { kind, per, model, key, axis = null, value = null, soft = false, raised_until: until = null } = limit
  const parts = [
    kind === 'budget' ? PER[per ?? 'total'] : RATES[kind],
    model,
    key,
    axis === null ? null : value === null ? `each ${axis}` : `${axis} ${value}`,
    soft ? 'watched only' : null,
    until === null ? null : `raised until ${moment(until)}`,
  ]
  return parts.filter((part) => part !== null).join(' · ')
}
