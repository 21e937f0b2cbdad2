import type { Command } from 'commander'
import { type Rebuilt, rebuildDay } from '../../../corrections/rebuild.ts'
import { type UncheckedDay, type Verified, verifyLedger } from '../../../corrections/verify.ts'
import type { Difference } from '../../../corrections/verify-part.ts'
import { Failure } from '../../../doctor/failure.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { renderTable } from '../../../operations/table.ts'
import { KEY_HEADINGS, keyCells, renderDailyKey } from '../../../usage/daily-key.ts'
import { parseDay, parseReason } from '../../arguments.ts'
import { type Cli, UNCHECKED } from '../../cli.ts'
import { operatorName } from '../../operator.ts'

const FIRST_DAY = '0001-01-01'

/**
 * `ledger verify`: recomputes the totals and lists every difference. Exit code 1: there are some. 3: there are none,
 * and there was no call to hold totals against.
 */
export function addLedgerVerifyCommand(ledger: Command, cli: Cli): void {
  ledger
    .command('verify')
    .description('recompute the totals from calls, prices and adjustments, and name every difference')
    .option('--since <day>', 'from this UTC day on; without: all', parseDay, FIRST_DAY)
    .option('--changed', 'only days that were not found right in the last week, or changed since')
    .option('--progress', 'say on stderr how far it has come, as on a terminal')
    .action(async ({ since, changed = false, progress = false }: VerifyOptions) => {
      const shown = cli.progress('calls and rows', progress)
      const verified = await cli.withServers(({ pool }) =>
        verifyLedger(pool, since, {
          changedOnly: changed,
          onProgress: (day, compared) => shown.at(day, compared),
        }),
      )
      const { proof, differences } = verified
      const isRight = differences.length === 0 && proof.totals === proof.counted
      cli.print(verifiedDocument(verified, isRight), verifiedText(verified, isRight))
      if (!isRight) cli.fail()
      else if (isUnchecked(verified)) cli.fail(UNCHECKED)
    })
}

/** `ledger rebuild`: recomputes a day's totals from its calls. */
export function addLedgerRebuildCommand(ledger: Command, cli: Cli): void {
  ledger
    .command('rebuild')
    .description("recompute a day's totals from its calls and adjustments")
    .requiredOption('--day <day>', 'the UTC day', parseDay)
    .option('--by <name>', 'who does it; without: the user of the system', parseReason)
    .option('--reason <text>', 'why', parseReason, 'totals differed from calls')
    .option('--progress', 'say on stderr how far it has come, as on a terminal')
    .action(async ({ day, by, reason, progress = false }: RebuildOptions) => {
      const shown = cli.progress('calls', progress)
      const order = { day, who: by ?? operatorName(), why: reason }
      const rebuilt = await cli.withServers(({ pool }) =>
        rebuildDay(pool, order, { onProgress: (of, calls) => shown.at(of, calls) }),
      )
      if (rebuilt.kind === 'not_kept')
        throw new Failure(`the calls of ${day} are not kept: there is nothing to rebuild it from`)
      if (rebuilt.kind === 'incomplete') {
        throw new Failure(
          `of the ${rebuilt.requests} requests of ${day} only ${rebuilt.calls} calls are kept, and the committed offsets of the producers say that the requests are right: nothing is changed`,
        )
      }
      cli.print(rebuiltDocument(day, rebuilt), rebuiltText(day, rebuilt))
    })
}

interface VerifyOptions {
  readonly since: string
  readonly changed?: boolean
  readonly progress?: boolean
}

interface RebuildOptions {
  readonly progress?: boolean
  readonly day: string
  readonly by?: string
  readonly reason: string
}

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
  const marks =
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
  return [head, ...(differences.length > 0 ? ['', table, ''] : []), ...marks, ...remarks, ...hint].join('\n')
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
