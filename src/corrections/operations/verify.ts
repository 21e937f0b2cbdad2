import { z } from 'zod'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownFlag,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { dayField, flagField, lineField } from '../../operations/fields.ts'
import { renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { conflict } from '../../operations/refuse.ts'
import { renderTable } from '../../operations/table.ts'
import { KEY_HEADINGS, keyCells, renderDailyKey } from '../../usage/daily-key.ts'
import type { Rebuilt } from '../rebuild.ts'
import type { UncheckedDay, Verified } from '../verify.ts'
import type { Difference } from '../verify-part.ts'

const FIRST_DAY = '0001-01-01'

const VERIFIED = shownDocument('Verification', {
  ok: shownFlag('There is no difference.'),
  rows: shownCount('Rows of totals that were compared.'),
  calls: shownCount('Calls that they were compared with.'),
  days_from_calls: shownList(z.string(), 'Days whose totals were compared with their calls.'),
  days_incomplete: shownList(z.string(), 'Days of which not all calls are kept, although they should be.'),
  days_not_checked: shownList(
    z.strictObject({
      day: shownDay('A UTC day.'),
      requests: shownCount('Requests in its totals.'),
      calls: shownCount('Calls of it that are kept.'),
    }),
    'Days whose calls prove nothing.',
  ),
  days_unchanged: shownList(z.string(), 'Days that were found right before and have not changed since.'),
  requests_by_marks: shownCount('Requests in all, by the committed offsets of the producers.'),
  requests_in_totals: shownCount('Requests in all, by the totals.'),
  differences: shownList(
    z
      .object({
        column: shownText('The column that differs.'),
        stored: shownText('What the totals say.'),
        recomputed: shownText('What they should say.'),
        against: shownText('calls, price, adjustments or daily_usage: what says so.'),
      })
      .loose(),
    'Each with the fields of its row.',
  ),
})

const isRight = ({ differences, proof }: Verified) =>
  differences.length === 0 && proof.totals === proof.counted

export const verifyOperation = renderedOperation({
  name: 'ledger.verify',
  summary: 'Recomputes the totals from calls, prices and adjustments, and names every difference.',
  role: 'read',
  http: { method: 'GET', path: '/ledger/verify', id: 'verifyLedger' },
  input: {
    since: dayField('From this UTC day on. Without it: all.').optional(),
    changed: flagField('Only days that were not found right in the last week, or changed since.').optional(),
  },
  answer: VERIFIED,
  gives: 'What was compared, and the differences.',
  isLong: true,
  async run({ pool, progress }: Ports, { since = FIRST_DAY, changed = false }) {
    const { verifyLedger } = await import('../verify.ts') // a gateway starts without it
    const shown = progress('calls and rows')
    return await verifyLedger(pool, since, {
      changedOnly: changed,
      onProgress: (day, compared) => shown.at(day, compared),
    })
  },
  render: (verified: Verified) => verifiedDocument(verified, isRight(verified)),
  command: {
    words: 'ledger verify',
    print: (verified) => verifiedText(verified, isRight(verified)),
    exitCode: (verified) => (isRight(verified) ? (isUnchecked(verified) ? 3 : 0) : 1),
  },
})

export const rebuildOperation = renderedOperation({
  name: 'ledger.rebuild',
  summary: "Recomputes a day's totals from its calls and adjustments.",
  role: 'write',
  http: { method: 'POST', path: '/ledger/rebuild', id: 'rebuildDay', body: 'Rebuild' },
  input: {
    day: dayField('The UTC day.'),
    reason: lineField('Why it is done.').default('totals differed from calls'),
  },
  answer: shownDocument('RebuiltDay', {
    day: shownDay('The UTC day.'),
    changed: shownFlag('The totals were not as the calls say.'),
    adjustment_id: shownTextOrNull('The adjustment that corrects them. null: nothing was changed.'),
    calls: shownCount('Calls of the day.'),
    rows: shownCount('Rows of totals that were corrected.'),
    before_usd: shownTextOrNull('The cost of these rows before. null: nothing was changed.'),
    after_usd: shownTextOrNull('The cost of these rows now. null: nothing was changed.'),
  }),
  gives: 'What was corrected.',
  errors: ['conflict'],
  isLong: true,
  async run({ pool, progress }: Ports, { day, reason }, who) {
    const { rebuildDay } = await import('../rebuild.ts') // a gateway starts without it
    const shown = progress('calls')
    const rebuilt = await rebuildDay(
      pool,
      { day, who, why: reason },
      { onProgress: (of, calls) => shown.at(of, calls) },
    )
    if (rebuilt.kind === 'not_kept')
      throw conflict(`The calls of ${day} are not kept: there is nothing to rebuild it from.`, 'day')
    if (rebuilt.kind === 'incomplete')
      throw conflict(
        `Of the ${rebuilt.requests} requests of ${day} only ${rebuilt.calls} calls are kept, and the committed offsets of the producers say that the requests are right: nothing is changed.`,
        'day',
      )
    return rebuilt
  },
  render: (rebuilt: RebuiltDay, { day }) => rebuiltDocument(day, rebuilt),
  changes: {
    event: 'admin.cost_corrected',
    says: 'totals of a day rebuilt',
    log: (rebuilt) => (rebuilt.kind === 'rebuilt' ? { adjustment: rebuilt.adjustmentId } : null),
  },
  command: { words: 'ledger rebuild', print: (rebuilt, { day }) => rebuiltText(day, rebuilt) },
})

function verifiedDocument(verified: Verified, isRight: boolean) {
  const { daysFromCalls, notChecked, firstKeptDay, unchangedDays, rows, calls, differences, proof } = verified
  const days = notChecked.map(({ day }) => day)
  return {
    ok: isRight,
    rows,
    calls: Number(calls),
    days_from_calls: daysFromCalls,
    days_incomplete: days.filter((day) => firstKeptDay !== null && day >= firstKeptDay),
    days_not_checked: notChecked.map(({ day, requests, calls }) => ({
      day,
      requests: Number(requests),
      calls: Number(calls),
    })),
    days_unchanged: unchangedDays,
    requests_by_marks: Number(proof.counted),
    requests_in_totals: Number(proof.totals),
    differences: differences.map(({ key, column, stored, recomputed, against }) => ({
      ...renderDailyKey(key),
      column,
      stored,
      recomputed,
      against,
    })),
  }
}

function isUnchecked({ calls, unchangedDays, notChecked }: Verified): boolean {
  return calls === 0n && unchangedDays.length === 0 && notChecked.length > 0
}

/** What there are no calls of: of each day that should have them, and of those before in one line. */
function notCheckedText({ notChecked, firstKeptDay }: Verified): readonly string[] {
  const isOld = ({ day }: UncheckedDay) => firstKeptDay === null || day < firstKeptDay
  const old = notChecked.filter(isOld)
  const named = notChecked
    .filter((unchecked) => !isOld(unchecked))
    .map(({ day, requests, calls }) => `${day} (${calls} calls for ${requests} requests)`)
  const requests = old.reduce((sum, day) => sum + day.requests, 0n)
  const ofDays = `${requests} requests of ${old.length} days, ${old[0]?.day} to ${old.at(-1)?.day}`
  return [
    ...(named.length === 0
      ? []
      : [`Not checked: not all calls are kept of ${named.join(', ')}. Only prices and adjustments were.`]),
    ...(old.length === 0
      ? []
      : [
          `Not checked: ${ofDays}: ${firstKeptDay === null ? 'no calls are kept' : `calls are kept from ${firstKeptDay} on`}. Only prices and adjustments were.`,
        ]),
  ]
}

const AGAINST: Readonly<Record<Difference['against'], string>> = {
  calls: 'its calls',
  price: 'its price',
  adjustments: 'its adjustments',
  daily_usage: 'the rows it sums up',
}

function verifiedText(verified: Verified, isRight: boolean): string {
  const { daysFromCalls, unchangedDays, rows, calls, differences, proof } = verified
  const compared = `${rows} rows of totals, ${calls} calls of ${daysFromCalls.length} days`
  const remarks = [
    ...notCheckedText(verified),
    ...(unchangedDays.length === 0
      ? []
      : [`${unchangedDays.length} days were found right before and have not changed since.`]),
  ]
  const offsets =
    proof.totals === proof.counted
      ? []
      : [
          `The committed offsets of the producers say ${proof.counted} requests in all, the totals have ${proof.totals}.`,
        ]
  if (isRight) return [`0 differences: ${compared}.`, ...remarks].join('\n')
  const table = renderTable(
    [...KEY_HEADINGS, 'COLUMN', 'STORED', 'SHOULD BE', 'BY'].map((heading) => ({ heading })),
    differences.map(({ key, column, stored, recomputed, against }) => [
      ...keyCells(key),
      column,
      stored,
      recomputed,
      AGAINST[against],
    ]),
  )
  const hint = differences.some(({ against }) => against !== 'price')
    ? ['Correct a day from its calls: ledger rebuild --day DAY']
    : []
  const head = `${differences.length} differences: ${compared}.`
  return [head, ...(differences.length > 0 ? ['', table, ''] : []), ...offsets, ...remarks, ...hint].join(
    '\n',
  )
}

type RebuiltDay = Extract<Rebuilt, { kind: 'rebuilt' | 'unchanged' }>

function rebuiltDocument(day: string, rebuilt: RebuiltDay) {
  const isChanged = rebuilt.kind === 'rebuilt'
  return {
    day,
    changed: isChanged,
    adjustment_id: isChanged ? rebuilt.adjustmentId : null,
    calls: Number(rebuilt.calls),
    rows: isChanged ? rebuilt.rows : 0,
    before_usd: isChanged ? picoToUsdText(rebuilt.beforePico) : null,
    after_usd: isChanged ? picoToUsdText(rebuilt.afterPico) : null,
  }
}

function rebuiltText(day: string, rebuilt: RebuiltDay): string {
  if (rebuilt.kind === 'unchanged') return `${day} is as its ${rebuilt.calls} calls say: nothing to correct.`
  const { rows, calls, beforePico, afterPico, adjustmentId } = rebuilt
  return `${day}: ${rows} rows corrected from ${calls} calls, ${picoToUsdText(beforePico)} -> ${picoToUsdText(afterPico)} USD: adjustment ${adjustmentId}.`
}
