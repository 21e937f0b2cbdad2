import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { ACCOUNT_SHAPES, buildSpentStatement, type SpentKind } from './spent-statement.ts'

/** Whose cost, of which calls, and of which UTC days. */
export interface SpendAccount {
  readonly clientId: string
  /** `null`: by whichever key. */
  readonly keyId: string | null
  /** Further keys, where it is of one. */
  readonly formerKeys?: readonly string[]
  /** A name or `prefix*`, as totals have it; `null`: whichever model. */
  readonly model: string | null
  readonly fromDay: UtcDay
  /** Included; `null`: without an end. */
  readonly toDay: UtcDay | null
}

/** What was spent, as of one moment. */
export interface SpentSnapshot {
  /**
   * Integer pico-USD, corrections and `chargedPico` included, in the order of the accounts; below 0 after a large credit.
   */
  readonly spentPico: readonly bigint[]
  /** Of these, what calls and jobs are charged whose cost is not known: what they had reserved. */
  readonly chargedPico: readonly bigint[]
  /** What jobs that wait for their cost reserve, in the same order; in no `spentPico`. */
  readonly jobsPico: readonly bigint[]
  /** The last record of each producer that is in these sums; a producer without a row yet is absent. */
  readonly committedOffsets: ReadonlyMap<string, number>
}

const STATEMENTS = new Map<string, string>()

/**
 * The exact cost of many accounts and the committed offsets of producers, by one statement and so of one snapshot.
 * It equals what `GET /v1/usage` says of the same days, but for what calls without a cost are charged.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectSpent(
  pool: Postgres | PostgresSession,
  accounts: readonly SpendAccount[],
  producers: readonly string[],
): Promise<SpentSnapshot> {
  const periods = new PeriodNumbers()
  const values = [
    accounts.map(({ clientId }) => clientId),
    accounts.map(({ keyId, formerKeys = [] }) => (keyId === null ? null : [keyId, ...formerKeys].join(','))),
    accounts.map(({ model }) => model),
    accounts.map((account) => periods.numberOf(account)),
    periods.fromDays,
    periods.toDays,
    producers,
  ]
  const { rows } = await pool.query<{ name: string; value: string; kind: SpentKind }>(
    statementFor(accounts),
    values,
  )
  const spentPico = accounts.map(() => 0n)
  const chargedPico = accounts.map(() => 0n)
  const jobsPico = accounts.map(() => 0n)
  const committedOffsets = new Map<string, number>()
  for (const { name, value, kind } of rows) {
    if (kind === 'offset') committedOffsets.set(name, Number(value))
    else if (kind === 'jobs') add(jobsPico, name, value)
    else {
      add(spentPico, name, value)
      if (kind === 'charged') add(chargedPico, name, value)
    }
  }
  return { spentPico, chargedPico, jobsPico, committedOffsets }
}

/** @param place of an account, from 1. */
function add(amounts: bigint[], place: string, pico: string): void {
  const at = Number(place) - 1
  amounts[at] = (amounts[at] ?? 0n) + BigInt(pico)
}

/** With the parts that these accounts need, built once. */
function statementFor(accounts: readonly SpendAccount[]): string {
  const shapes = ACCOUNT_SHAPES.filter(({ ofKey, ofModel }) =>
    accounts.some(({ keyId, model }) => (keyId !== null) === ofKey && (model !== null) === ofModel),
  )
  const name = shapes.map(({ ofKey, ofModel }) => `${ofKey} ${ofModel}`).join()
  const known = STATEMENTS.get(name)
  if (known !== undefined) return known
  const statement = buildSpentStatement(shapes)
  STATEMENTS.set(name, statement)
  return statement
}

/** Numbers the periods that accounts have, from 1: many accounts have the same few. */
class PeriodNumbers {
  readonly fromDays: UtcDay[] = []
  readonly toDays: (UtcDay | null)[] = []
  readonly #numbers = new Map<string, number>()

  numberOf({ fromDay, toDay }: SpendAccount): number {
    const name = `${fromDay} ${toDay}`
    let number = this.#numbers.get(name)
    if (number === undefined) {
      this.fromDays.push(fromDay)
      this.toDays.push(toDay)
      number = this.fromDays.length
      this.#numbers.set(name, number)
    }
    return number
  }
}
