import type { Command } from 'commander'
import { endRule, type RuleInForce, selectRulesInForce } from '../../../corrections/repricing-rules.ts'
import { Failure } from '../../../doctor/failure.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { renderTable } from '../../../operations/table.ts'
import { parseCountArgument } from '../../arguments.ts'
import type { Cli } from '../../cli.ts'

/** `prices rules` and `prices end-rule`: the repricings that still apply to calls that arrive late. */
export function addPricesRulesCommands(prices: Command, cli: Cli): void {
  prices
    .command('rules')
    .description('repricings that go on for calls that come in late, the newest first')
    .action(async () => {
      const rules = await cli.withServers(({ pool }) => selectRulesInForce(pool))
      cli.print(rules.map(document), table(rules))
    })

  prices
    .command('end-rule')
    .description('let calls that come in from now on stay as metered; what was corrected stays so')
    .argument('<id>', 'its id, as rules shows it', parseCountArgument)
    .action(async (id: number) => {
      const ended = await cli.withServers(({ pool }) => endRule(pool, `${id}`))
      if (!ended) throw new Failure(`there is no rule ${id} in force`)
      cli.print({ id: `${id}`, ended: true }, `Rule ${id} is ended.`)
    })
}

function document(rule: RuleInForce) {
  return {
    id: rule.adjustmentId,
    model: rule.model,
    provider: rule.provider,
    since: rule.since,
    made_at: rule.madeAt.toISOString(),
    who: rule.who,
    why: rule.why,
    catalog: rule.catalogSource,
    amount_usd: picoToUsdText(rule.pico),
  }
}

function table(rules: readonly RuleInForce[]): string {
  if (rules.length === 0) return 'No repricing goes on.'
  return renderTable(
    [
      { heading: 'ID' },
      { heading: 'MODEL' },
      { heading: 'PROVIDER' },
      { heading: 'SINCE' },
      { heading: 'MADE' },
      { heading: 'BY' },
      { heading: 'AMOUNT USD', align: 'right' },
      { heading: 'WHY' },
    ],
    rules.map(({ adjustmentId, model, provider, since, madeAt, who, pico, why }) => [
      adjustmentId,
      model,
      provider ?? 'any',
      since,
      `${madeAt.toISOString().slice(0, 16)}Z`,
      who,
      picoToUsdText(pico),
      why,
    ]),
  )
}
