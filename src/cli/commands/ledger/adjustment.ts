import type { Command } from 'commander'
import { type Adjustment, addCredit, selectAdjustments } from '../../../corrections/adjustments.ts'
import { Failure } from '../../../doctor/failure.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { utcDayOf } from '../../../domain/utc-day.ts'
import { findClient } from '../../../keys/clients.ts'
import { renderTable } from '../../../operations/table.ts'
import { parseCountArgument, parseDay, parseModelName, parseReason, parseUsd } from '../../arguments.ts'
import type { Cli } from '../../cli.ts'
import { operatorName } from '../../operator.ts'

/** `adjustment add | list`: manual credits and corrections, and all other adjustments. */
export function addAdjustmentCommands(program: Command, cli: Cli): void {
  const adjustment = program.command('adjustment').description('corrections of cost, each with its reason')

  adjustment
    .command('add')
    .description("add an amount to a client's cost; below 0 is a credit")
    .requiredOption('--client <name>', 'whose cost')
    .requiredOption('--amount-usd <amount>', 'US dollars, such as -12.50', parseUsd)
    .requiredOption('--reason <text>', 'why', parseReason)
    .option('--day <day>', 'the UTC day it counts for; without: today', parseDay)
    .option('--model <name>', 'the model it is shown under', parseModelName)
    .option('--by <name>', 'who does it; without: the user of the system', parseReason)
    .action(async (options: AddOptions) => {
      const { client, amountUsd, reason, model = null } = options
      const day = options.day ?? utcDayOf(Date.now())
      if (day > utcDayOf(Date.now())) throw new Failure(`--day ${day} is still to come`)
      const who = options.by ?? operatorName()
      const credited = await cli.withServers(async ({ pool }) => {
        const found = await findClient(pool, client)
        if (found === null) throw new Failure(`there is no client named ${client}`)
        return await addCredit(pool, {
          clientId: found.id,
          day,
          model,
          pico: amountUsd,
          who,
          why: reason,
        })
      })
      const before = picoToUsdText(credited.beforePico)
      const after = picoToUsdText(credited.afterPico)
      const amount = picoToUsdText(amountUsd)
      const id = credited.adjustmentId
      cli.print(
        {
          id,
          client,
          day,
          model,
          amount_usd: amount,
          who,
          why: reason,
          before_usd: before,
          after_usd: after,
        },
        `Cost of ${client} on ${day}: ${before} -> ${after} USD (${amount}): adjustment ${id}.`,
      )
    })

  adjustment
    .command('list')
    .description('show who corrected what, when and why, the newest first')
    .option('--limit <n>', 'at most so many', parseCountArgument, 100)
    .action(async ({ limit }: { readonly limit: number }) => {
      const adjustments = await cli.withServers(({ pool }) => selectAdjustments(pool, limit))
      cli.print(adjustments.map(document), table(adjustments))
    })
}

interface AddOptions {
  readonly client: string
  readonly amountUsd: bigint
  readonly reason: string
  readonly day?: string
  readonly model?: string
  readonly by?: string
}

function document(adjustment: Adjustment) {
  return {
    id: adjustment.id,
    at: adjustment.at.toISOString(),
    kind: adjustment.kind,
    who: adjustment.who,
    why: adjustment.why,
    scope: adjustment.scope,
    before_usd: picoToUsdText(adjustment.beforePico),
    after_usd: picoToUsdText(adjustment.afterPico),
    /** Including what later calls added. */
    amount_usd: picoToUsdText(adjustment.pico),
    rows: adjustment.rows,
    priced_calls: Number(adjustment.pricedCalls),
  }
}

function table(adjustments: readonly Adjustment[]): string {
  if (adjustments.length === 0) return 'Nothing was ever corrected.'
  const right = { align: 'right' } as const
  return renderTable(
    [
      { heading: 'ID' },
      { heading: 'AT' },
      { heading: 'KIND' },
      { heading: 'WHO' },
      { heading: 'ROWS', ...right },
      { heading: 'AMOUNT USD', ...right },
      { heading: 'WHY' },
    ],
    adjustments.map(({ id, at, kind, who, rows, pico, why }) => [
      id,
      `${at.toISOString().slice(0, 16)}Z`,
      kind,
      who,
      `${rows}`,
      picoToUsdText(pico),
      why,
    ]),
  )
}
