import type { Command } from 'commander'
import { Failure } from '../../../doctor/failure.ts'
import { findClient } from '../../../keys/clients.ts'
import { isOfKey } from '../../../limits/limit.ts'
import {
  type RecordedChange,
  renderLimitChange,
  selectLimitChanges,
} from '../../../limits/table/limit-changes.ts'
import { parseCountArgument } from '../../arguments.ts'
import type { Cli } from '../../cli.ts'
import { renderTable } from '../../table.ts'
import { addScopeOptions, refuseOptions, type ScopeOptions, scopeOfOptions } from './limit-options.ts'
import { addRaiseCommand, addTopUpCommand } from './limits-raise.ts'
import { addRemoveCommand } from './limits-remove.ts'
import { addSetCommand } from './limits-set.ts'
import { printLimits, readStandingLimits } from './standing-limits.ts'

/** `limits set | show | remove | raise | top-up | history`: rates and budgets of clients. */
export function addLimitsCommands(program: Command, cli: Cli): void {
  const limits = program.command('limits').description('rates and budgets of clients')
  addSetCommand(limits, cli)
  addShowCommand(limits, cli)
  addRemoveCommand(limits, cli)
  addRaiseCommand(limits, cli)
  addTopUpCommand(limits, cli)
  addHistoryCommand(limits, cli)
}

function addShowCommand(limits: Command, cli: Cli): void {
  const show = limits.command('show').description('show limits, and what is spent and left of budgets')
  addScopeOptions(show).action(async (options: ScopeOptions, command: Command) => {
    const { client, key, model } = options
    if (client !== undefined && options.default === true)
      refuseOptions(command, '--client and --default do not go together')
    if (key !== undefined && client === undefined) refuseOptions(command, '--key needs --client')
    const standing = await cli.withServers(async ({ pool }) => {
      const { clientId } = await scopeOfOptions(pool, options)
      const isOfAll = client === undefined && options.default !== true
      return await readStandingLimits(pool, isOfAll ? undefined : clientId)
    })
    const limits = standing.limits.filter(
      ({ limit }) =>
        (key === undefined || (limit.keyId !== null && isOfKey(limit, key))) &&
        (model === undefined || limit.model === model),
    )
    printLimits(cli, { ...standing, limits })
  })
}

function addHistoryCommand(limits: Command, cli: Cli): void {
  limits
    .command('history')
    .description('show who changed which limit, when, and from what to what, the newest first')
    .option('--client <name>', 'of this client alone')
    .option('--limit <n>', 'at most so many', parseCountArgument, 100)
    .action(async ({ client, limit }: { readonly client?: string; readonly limit: number }) => {
      const changes = await cli.withServers(async ({ pool }) => {
        const found = client === undefined ? null : await findClient(pool, client)
        if (client !== undefined && found === null)
          throw new Failure(`there is no client named ${client}; client list shows them`)
        return await selectLimitChanges(pool, { clientId: found?.id ?? null, before: null, rows: limit })
      })
      cli.print(changes.map(renderLimitChange), historyTable(changes))
    })
}

function historyTable(changes: readonly RecordedChange[]): string {
  if (changes.length === 0) return 'No limit was ever set.'
  return renderTable(
    ['AT', 'WHO', 'ACTION', 'LIMIT', 'CLIENT', 'BEFORE', 'AFTER'].map((heading) => ({ heading })),
    changes.map(({ at, who, action, limitId, client, before, after }) => [
      `${at.toISOString().slice(0, 19)}Z`,
      who,
      action,
      limitId,
      client ?? '(default)',
      shortTerms(before),
      shortTerms(after),
    ]),
  )
}

/** What of the terms is set, in one line. */
function shortTerms(terms: unknown): string {
  if (typeof terms !== 'object' || terms === null) return '-'
  return Object.entries(terms)
    .filter(([, value]) => value !== null && value !== false && `${value}` !== '')
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}
