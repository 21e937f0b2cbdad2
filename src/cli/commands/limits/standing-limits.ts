import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { amountAt } from '../../../limits/limit.ts'
import { renderLimit, type ShownLimit } from '../../../limits/limit-document.ts'
import {
  type NamedLimit,
  selectDefaultLimits,
  selectLimits,
  selectLimitsOf,
  showLimits,
} from '../../../limits/shown-limits.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import type { Cli } from '../../cli.ts'
import { renderTable } from '../../table.ts'
import { describeAmountsOf } from './limit-words.ts'

/** Limits at a moment. */
export interface StandingLimits {
  readonly limits: readonly ShownLimit[]
  readonly nowMs: number
}

const PAGE_ROWS = 2_000

/**
 * The limits as they stand, with what was spent of budgets.
 *
 * @param clientId Those that hold for a client; `null`: the defaults; `undefined`: all there are.
 */
export async function readStandingLimits(
  pool: Postgres,
  clientId: string | null | undefined,
): Promise<StandingLimits> {
  const nowMs = Date.now()
  const named =
    clientId === undefined
      ? await selectAllLimits(pool)
      : clientId === null
        ? await selectDefaultLimits(pool)
        : await selectLimitsOf(pool, clientId)
  return { limits: await showLimits(pool, named, clientId ?? null, nowMs), nowMs }
}

/** By client, the defaults first. */
async function selectAllLimits(pool: Postgres): Promise<readonly NamedLimit[]> {
  const all: NamedLimit[] = []
  for (let after = '0'; ; ) {
    const page = await selectLimits(pool, { after, rows: PAGE_ROWS })
    all.push(...page)
    const last = page[PAGE_ROWS - 1]
    if (last === undefined) break
    after = last.limit.id
  }
  const nameOf = ({ client }: NamedLimit): string => client ?? ''
  return all.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0))
}

/** Prints limits, as JSON or as a table. */
export function printLimits(cli: Cli, { limits, nowMs }: StandingLimits, said = ''): void {
  const text = limits.length === 0 ? 'There is no limit. Set one: limits set --help' : table(limits, nowMs)
  cli.print(
    limits.map((limit) => renderLimit(limit, nowMs)),
    said === '' ? text : `${said}\n\n${text}`,
  )
}

function table(limits: readonly ShownLimit[], nowMs: number): string {
  const right = { align: 'right' } as const
  return renderTable(
    [
      { heading: 'ID', ...right },
      { heading: 'CLIENT' },
      { heading: 'KEY' },
      { heading: 'MODEL' },
      { heading: 'LIMIT' },
      { heading: 'SPENT USD', ...right },
      { heading: 'LEFT USD', ...right },
      { heading: 'PERIOD' },
    ],
    limits.map(({ limit, client, spent }) => {
      const left = spent === null ? 0n : amountAt(limit, nowMs) - spent.pico
      return [
        limit.id,
        client ?? '(default)',
        limit.keyId ?? '',
        limit.model ?? '',
        describeAmountsOf(limit, nowMs),
        spent === null ? '' : picoToUsdText(spent.pico),
        spent === null ? '' : picoToUsdText(left > 0n ? left : 0n),
        spent === null ? '' : `${spent.period.fromDay} to ${spent.period.toDay ?? '...'}`,
      ]
    }),
  )
}
