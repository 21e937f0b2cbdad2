import { type Command, InvalidArgumentError } from 'commander'
import { Failure } from '../../../doctor/failure.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { describeSort } from '../../../limits/limit-amounts.ts'
import { renderAmount } from '../../../limits/limit-document.ts'
import { parseRaiseEnd, RAISE_END_FORMS } from '../../../limits/raise-end.ts'
import { raiseLimits, topUpBudget } from '../../../limits/table/raise-limits.ts'
import { parseReason, parseUsd } from '../../arguments.ts'
import type { Cli } from '../../cli.ts'
import { operatorName } from '../../operator.ts'
import {
  type AmountOptions,
  addAmountOptions,
  addScopeOptions,
  addWhoOption,
  checkScope,
  readAmounts,
  type ScopeOptions,
  scopeOfOptions,
} from './limit-options.ts'
import { printLimits, readStandingLimits } from './standing-limits.ts'

interface RaiseOptions extends ScopeOptions, AmountOptions {
  readonly until: number
  readonly by?: string
}

interface TopUpOptions extends ScopeOptions {
  readonly add: bigint
  readonly soft?: true
  readonly reference?: string
  readonly by?: string
}

/** `limits raise`: more for a while. */
export function addRaiseCommand(limits: Command, cli: Cli): void {
  const raise = limits.command('raise').description('allow more until a time; then the limit holds as before')
  addWhoOption(addAmountOptions(addScopeOptions(raise)))
    .requiredOption('--until <time>', RAISE_END_FORMS, parseUntil)
    .action(async (options: RaiseOptions, command: Command) => {
      checkScope(command, options)
      const orders = readAmounts(command, options)
      const standing = await cli.withServers(async ({ pool, announce }) => {
        const scope = await scopeOfOptions(pool, options)
        const raised = await raiseLimits(pool, scope, orders, options.until, options.by ?? operatorName())
        if (raised.kind === 'missing')
          throw new Failure(
            `there is no such limit (${describeSort(raised.sort)}) to raise: limits set makes one`,
          )
        if (raised.kind === 'not_above') {
          const amount = renderAmount(raised.limit, raised.limit.amount)
          throw new Failure(
            `the limit is ${amount} already (${describeSort(raised.limit)}): raise it above that, or lower it by limits set`,
          )
        }
        await announce()
        return await readStandingLimits(pool, scope.clientId)
      })
      printLimits(cli, standing)
    })
}

/** `limits top-up`: a payment for a prepaid budget. */
export function addTopUpCommand(limits: Command, cli: Cli): void {
  const topUp = limits.command('top-up').description('add to a budget per total, for good')
  addWhoOption(addScopeOptions(topUp))
    .requiredOption('--add <usd>', 'US dollars, such as 50; below 0 takes away', parseUsd)
    .option('--soft', 'the soft budget')
    .option(
      '--reference <text>',
      'names the payment, which counts once however often it is sent',
      parseReason,
    )
    .action(async (options: TopUpOptions, command: Command) => {
      checkScope(command, options)
      const { add, soft = false, reference = null } = options
      let said = ''
      const standing = await cli.withServers(async ({ pool, announce }) => {
        const scope = await scopeOfOptions(pool, options)
        const order = { isSoft: soft, pico: add, reference }
        const done = await topUpBudget(pool, scope, order, options.by ?? operatorName())
        if (done.kind === 'missing')
          throw new Failure(
            `there is no ${soft ? 'soft ' : ''}budget in total to top up: limits set --budget USD --per total makes one`,
          )
        if (done.kind === 'too_little')
          throw new Failure(
            `the budget is ${picoToUsdText(done.limit.amount)} USD: so much cannot be taken away; limits remove removes it`,
          )
        if (done.kind === 'repeated') said = `The payment ${reference} was added before: nothing changes.`
        await announce()
        return await readStandingLimits(pool, scope.clientId)
      })
      printLimits(cli, standing, said)
    })
}

function parseUntil(text: string): number {
  const end = parseRaiseEnd(text, Date.now())
  if (end.kind === 'end') return end.untilMs
  throw new InvalidArgumentError(
    end.kind === 'past' ? 'It is over already: write a time to come.' : `Write ${RAISE_END_FORMS}.`,
  )
}
