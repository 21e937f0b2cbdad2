import { type Command, InvalidArgumentError, Option } from 'commander'
import { Failure } from '../../../doctor/failure.ts'
import { findScope } from '../../../limits/find-scope.ts'
import { BUDGET_PERIODS, type BudgetPeriod, type LimitKind } from '../../../limits/limit.ts'
import { describeAmounts, parseAmount } from '../../../limits/limit-amounts.ts'
import type { LimitScope, LimitSort } from '../../../limits/table/change-limits.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { parseModel, parseReason } from '../../arguments.ts'

/** Whose calls are meant. */
export interface ScopeOptions {
  readonly client?: string
  readonly default?: true
  readonly key?: string
  readonly model?: string
}

/** The same, where a change has to say whose. */
export function addScopeOptions(command: Command): Command {
  return command
    .option('--client <name>', 'the client')
    .option('--default', 'all clients that have none of their own like it')
    .option('--key <id>', 'only calls with this key of the client')
    .option(
      '--model <pattern>',
      'only calls of this model, or of those that begin so: gpt-4o, claude-*',
      parseModel,
    )
}

export function addWhoOption(command: Command): Command {
  return command.option('--by <name>', 'who does it; without: the user of the system', parseReason)
}

/** Finds whose calls are meant. @throws {Failure} When there is no such client or key. */
export async function scopeOfOptions(pool: Postgres, options: ScopeOptions): Promise<LimitScope> {
  const { client = null, key = null, model = null } = options
  const found = await findScope(pool, { client, key, model })
  if (found.kind === 'scope') return found.scope
  const list = found.param === 'key' ? `key list --client ${client}` : 'client list'
  throw new Failure(`${found.text}; ${list} shows them`)
}

/** Ends the process with code 2 where the options of a scope do not go together. */
export function checkScope(command: Command, options: ScopeOptions): void {
  if (options.client === undefined && options.default === undefined)
    refuseOptions(command, 'say whose: --client NAME, or --default for all clients')
  if (options.client !== undefined && options.default === true)
    refuseOptions(command, '--client and --default do not go together')
  if (options.key !== undefined && options.default === true)
    refuseOptions(command, '--key needs --client: a default is for every key')
}

/** Amounts by kind, and what belongs to a budget. */
export interface AmountOptions {
  readonly budget?: bigint
  readonly per?: BudgetPeriod
  readonly soft?: true
  readonly rpm?: bigint
  readonly tpm?: bigint
  readonly concurrent?: bigint
}

export function addAmountOptions(command: Command): Command {
  return command
    .option('--budget <usd>', 'US dollars, such as 12.50', amountOf('budget'))
    .addOption(perOption())
    .option('--soft', 'a budget that alerts and refuses nothing')
    .option('--rpm <n>', 'requests a minute', amountOf('requests'))
    .option('--tpm <n>', 'tokens a minute, prompt and answer', amountOf('tokens'))
    .option('--concurrent <n>', 'calls at once', amountOf('concurrent'))
}

export function perOption(): Option {
  return new Option('--per <period>', 'of a budget: what it is for').choices(BUDGET_PERIODS)
}

/** What is to be set or raised; ends the process with code 2 where nothing is, or a budget has no period. */
export function readAmounts(
  command: Command,
  options: AmountOptions,
): readonly (LimitSort & { readonly amount: bigint })[] {
  const { budget, per, soft = false, rpm, tpm, concurrent } = options
  if (budget === undefined && (per !== undefined || soft))
    refuseOptions(command, `${per === undefined ? '--soft' : '--per'} needs --budget USD`)
  if (budget !== undefined && per === undefined)
    refuseOptions(command, `--budget needs --per ${BUDGET_PERIODS.join('|')}`)
  const amounts = [
    { kind: 'budget', per: per ?? null, isSoft: soft, amount: budget },
    { kind: 'requests', per: null, isSoft: false, amount: rpm },
    { kind: 'tokens', per: null, isSoft: false, amount: tpm },
    { kind: 'concurrent', per: null, isSoft: false, amount: concurrent },
  ] as const
  const given = amounts.flatMap((sort) => (sort.amount === undefined ? [] : { ...sort, amount: sort.amount }))
  if (given.length === 0) refuseOptions(command, 'say what: --budget USD, --rpm N, --tpm N or --concurrent N')
  return given
}

/** Ends the process with code 2. */
export function refuseOptions(command: Command, text: string): never {
  command.error(`error: ${text}`)
}

function amountOf(kind: LimitKind): (text: string) => bigint {
  return (text) => {
    const amount = parseAmount(kind, text)
    if (amount !== null) return amount
    const instead = /^-?0*(?:\.0*)?$/.test(text)
      ? ' To refuse all calls of a client: client disable NAME.'
      : ''
    throw new InvalidArgumentError(`Write ${describeAmounts(kind)}.${instead}`)
  }
}
