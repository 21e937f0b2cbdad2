import { type Command, InvalidArgumentError } from 'commander'
import { Failure } from '../../../doctor/failure.ts'
import type { BudgetPeriod } from '../../../limits/limit.ts'
import { type FilteredSort, type LimitFilter, removeLimits } from '../../../limits/table/remove-limits.ts'
import type { Cli } from '../../cli.ts'
import { operatorName } from '../../operator.ts'
import {
  addScopeOptions,
  addWhoOption,
  checkScope,
  perOption,
  refuseOptions,
  type ScopeOptions,
  scopeOfOptions,
} from './limit-options.ts'
import { printLimits, readStandingLimits } from './standing-limits.ts'

interface RemoveOptions extends ScopeOptions {
  readonly budget?: true
  readonly per?: BudgetPeriod
  readonly soft?: true
  readonly rpm?: true
  readonly tpm?: true
  readonly concurrent?: true
  readonly by?: string
}

/** `limits remove`: by ids, or all that the options name. */
export function addRemoveCommand(limits: Command, cli: Cli): void {
  const remove = limits
    .command('remove')
    .description('lift limits: those with these ids, or all of a client that the options name')
    .argument('[ids...]', 'ids that limits show shows', parseIds)
  addWhoOption(addScopeOptions(remove))
    .option('--budget', 'budgets')
    .addOption(perOption())
    .option('--soft', 'of budgets, only soft ones')
    .option('--rpm', 'requests a minute')
    .option('--tpm', 'tokens a minute')
    .option('--concurrent', 'calls at once')
    .action(async (ids: readonly string[], options: RemoveOptions, command: Command) => {
      const sorts = sortsOf(options)
      const names = options.client !== undefined || options.default === true
      if (ids.length === 0) checkScope(command, options)
      else if (names || options.key !== undefined || options.model !== undefined || sorts.length > 0)
        refuseOptions(command, 'write ids or options, not both')
      const standing = await cli.withServers(async ({ pool, announce }) => {
        const scope = ids.length === 0 ? await scopeOfOptions(pool, options) : null
        const filter: LimitFilter =
          scope === null
            ? { ids }
            : {
                clientId: scope.clientId,
                keyId: scope.keyId ?? undefined,
                model: scope.model ?? undefined,
                sorts: sorts.length === 0 ? undefined : sorts,
              }
        const removed = await removeLimits(pool, filter, options.by ?? operatorName())
        if (removed.length === 0)
          throw new Failure('there is no such limit to remove; limits show lists them')
        await announce()
        const [first] = removed
        return await readStandingLimits(pool, first?.clientId ?? null)
      })
      printLimits(cli, standing)
    })
}

function sortsOf({ budget, per, soft, rpm, tpm, concurrent }: RemoveOptions): readonly FilteredSort[] {
  const isBudget = budget === true || per !== undefined || soft === true
  return [
    ...(isBudget ? [{ kind: 'budget', per, isSoft: soft } as const] : []),
    ...(rpm === true ? [{ kind: 'requests' } as const] : []),
    ...(tpm === true ? [{ kind: 'tokens' } as const] : []),
    ...(concurrent === true ? [{ kind: 'concurrent' } as const] : []),
  ]
}

function parseIds(text: string, before: readonly string[] | undefined): readonly string[] {
  if (!/^[1-9][0-9]{0,17}$/.test(text))
    throw new InvalidArgumentError('Write a number that limits show shows.')
  return [...(before ?? []), text]
}
