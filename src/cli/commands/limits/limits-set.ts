import { type Command, Option } from 'commander'
import { utcDayOf } from '../../../domain/utc-day.ts'
import { WHEN_ALONE, type WhenAlone } from '../../../limits/limit.ts'
import { setLimits } from '../../../limits/table/change-limits.ts'
import { parseDay } from '../../arguments.ts'
import type { Cli } from '../../cli.ts'
import { operatorName } from '../../operator.ts'
import {
  type AmountOptions,
  addAmountOptions,
  addScopeOptions,
  addWhoOption,
  checkScope,
  readAmounts,
  refuseOptions,
  type ScopeOptions,
  scopeOfOptions,
} from './limit-options.ts'
import { printLimits, readStandingLimits } from './standing-limits.ts'

interface SetOptions extends ScopeOptions, AmountOptions {
  readonly unpriced?: 'allow' | 'refuse'
  readonly whenAlone?: WhenAlone
  readonly cached?: 'count' | 'ignore'
  readonly since?: string
  readonly by?: string
}

/** `limits set`: what clients may use. */
export function addSetCommand(limits: Command, cli: Cli): void {
  const set = limits.command('set').description('limit calls; a limit like it is replaced')
  addWhoOption(addAmountOptions(addScopeOptions(set)))
    .addOption(
      new Option(
        '--unpriced <what>',
        'of a hard budget: calls of models without a price (default: refuse)',
      ).choices(['allow', 'refuse']),
    )
    .addOption(
      new Option(
        '--when-alone <what>',
        'of a hard budget: calls beyond its share, at a gateway that cannot ask the others (default: refuse)',
      ).choices(WHEN_ALONE),
    )
    .addOption(
      new Option('--cached <what>', 'of --tpm: cached prompt tokens (default: count)').choices([
        'count',
        'ignore',
      ]),
    )
    .option('--since <day>', 'of --per total: the first UTC day that counts; without: today', parseDay)
    .action(async (options: SetOptions, command: Command) => {
      checkScope(command, options)
      const amounts = readAmounts(command, options)
      checkSettings(command, options)
      const { unpriced, whenAlone, cached, since } = options
      const standing = await cli.withServers(async ({ pool, announce }) => {
        const scope = await scopeOfOptions(pool, options)
        const orders = amounts.map((amount) => ({
          ...amount,
          since,
          countsCached: amount.kind === 'tokens' && cached !== undefined ? cached === 'count' : undefined,
          allowsUnpriced:
            amount.kind === 'budget' && unpriced !== undefined ? unpriced === 'allow' : undefined,
          whenAlone: amount.kind === 'budget' ? whenAlone : undefined,
        }))
        await setLimits(pool, scope, orders, options.by ?? operatorName())
        await announce()
        return await readStandingLimits(pool, scope.clientId)
      })
      printLimits(cli, standing)
    })
}

function checkSettings(command: Command, options: SetOptions): void {
  const { budget, soft, per, tpm, unpriced, whenAlone, cached, since } = options
  if (unpriced !== undefined && (budget === undefined || soft === true))
    refuseOptions(command, '--unpriced needs --budget USD without --soft: other limits pass every model')
  if (whenAlone !== undefined && (budget === undefined || soft === true))
    refuseOptions(command, '--when-alone needs --budget USD without --soft: only such budgets are shared out')
  if (cached !== undefined && tpm === undefined) refuseOptions(command, '--cached needs --tpm N')
  if (since !== undefined && per !== 'total')
    refuseOptions(command, '--since needs --per total: other periods have their days')
  if (since !== undefined && since > utcDayOf(Date.now()))
    refuseOptions(command, `--since ${since} is still to come`)
}
