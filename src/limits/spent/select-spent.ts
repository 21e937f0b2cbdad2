import type { UtcDay } from '../../domain/utc-day.ts'
import { clientsBelow } from '../../keys/groups/group-spans.ts'
import { inSnapshot, type Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { WrittenScope } from '../subject.ts'
import { ACCOUNT_SHAPES, buildSpentStatement, type SpentKind } from './spent-statement.ts'

/** Whose cost, of which calls, and of which UTC days. */
export interface SpendAccount extends WrittenScope {
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
 * The exact cost of many accounts and the committed offsets of producers, of one snapshot: a record is in both or neither.
 * It equals what `GET /v1/usage` says of the same days, but for what calls without a cost are charged.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectSpent(
  pool: Postgres,
  accounts: readonly SpendAccount[],
  producers: readonly string[],
): Promise<SpentSnapshot> {
  const parts = accounts.map((account, at) => ({ account, place: at + 1 }))
  const ofGroups = parts.filter(({ account: { groupId = null } }) => groupId !== null)
  if (ofGroups.length === 0) return await selectParts(pool, parts, accounts, producers)
  const select = async (reader: Reader) => {
    const ofClients = parts.filter(({ account: { groupId = null } }) => groupId === null)
    const split = [...ofClients, ...(await splitByClient(reader, ofGroups))]
    return await selectParts(reader, split, accounts, producers)
  }
  // Without offsets nothing has to agree with the sums, and this may be within a transaction.
  return producers.length === 0 ? await select(pool) : await inSnapshot(pool, select)
}

type Reader = Pick<Postgres, 'query'>

async function selectParts(
  pool: Reader,
  parts: readonly AccountPart[],
  accounts: readonly SpendAccount[],
  producers: readonly string[],
): Promise<SpentSnapshot> {
  const periods = new PeriodNumbers()
  const values = [
    parts.map(({ account }) => account.clientId),
    parts.map(({ account: { keyId, formerKeys = [] } }) =>
      keyId === null ? null : [keyId, ...formerKeys].join(','),
    ),
    parts.map(({ account }) => account.model),
    parts.map(({ account }) => periods.numberOf(account)),
    periods.fromDays,
    periods.toDays,
    producers,
    parts.map(({ place }) => place),
    parts.map(({ account }) => account.axis ?? null),
    parts.map(({ account }) => account.value ?? null),
  ]
  const { rows } = await pool.query<{ name: string; value: string; kind: SpentKind }>(
    statementFor(parts.map(({ account }) => account)),
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

interface AccountPart {
  readonly account: SpendAccount
  /** Of the account that it is a part of, from 1. */
  readonly place: number
}

/** On which days clients were in groups. Days before and after all are -infinity and infinity, which sort so as text. */
interface ClientSpan {
  readonly group_id: string
  readonly client_id: string
  readonly from_day: string
  readonly to_day: string
}

const CLIENTS_OF_GROUPS = `
select asked.id as group_id, s.client_id, s.from_day::text, s.to_day::text
from unnest($1::text[]) asked (id) cross join lateral (${clientsBelow('asked.id')}) s`

/** Which clients have anything of a value: of a value that was made up, none. */
const CLIENTS_OF_VALUES = `
select distinct a.place, v.client_id
from unnest($1::integer[], $2::text[], $3::text[], $4::date[], $5::date[]) a (place, axis, value, from_day, to_day)
join ${SCHEMA}.value_spending v on v.axis = a.axis and v.value = a.value
  and v.day between a.from_day and coalesce(a.to_day, 'infinity')`

/** The accounts of groups as those of their clients, each for the days on which it was in the group. */
async function splitByClient(
  session: Reader,
  ofGroups: readonly AccountPart[],
): Promise<readonly AccountPart[]> {
  const ids = new Set(ofGroups.map(({ account }) => account.groupId))
  const { rows } = await session.query<ClientSpan>(CLIENTS_OF_GROUPS, [[...ids]])
  const spans = Map.groupBy(rows, ({ group_id: id }) => id)
  const ofValues = await selectClientsOfValues(session, ofGroups)
  return ofGroups.flatMap(({ account, place }) =>
    (spans.get(account.groupId ?? '') ?? [])
      .filter(({ client_id: id }) => account.axis == null || ofValues.get(place)?.has(id) === true)
      .flatMap((span) => within(account, span).map((part) => ({ account: part, place }))),
  )
}

/** The clients of each account of a value, by its place. */
async function selectClientsOfValues(
  session: Reader,
  parts: readonly AccountPart[],
): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
  const clients = new Map<number, Set<string>>()
  const ofValues = parts.filter(({ account: { axis = null } }) => axis !== null)
  if (ofValues.length === 0) return clients
  const { rows } = await session.query<{ place: number; client_id: string }>(CLIENTS_OF_VALUES, [
    ofValues.map(({ place }) => place),
    ofValues.map(({ account }) => account.axis),
    ofValues.map(({ account }) => account.value),
    ofValues.map(({ account }) => account.fromDay),
    ofValues.map(({ account }) => account.toDay),
  ])
  for (const { place, client_id: id } of rows)
    clients.set(place, (clients.get(place) ?? new Set<string>()).add(id))
  return clients
}

/** What of an account is of a client, on the days of a span; none where they have none in common. */
function within(account: SpendAccount, span: ClientSpan): readonly SpendAccount[] {
  const fromDay = account.fromDay > span.from_day ? account.fromDay : span.from_day
  const last = account.toDay ?? END
  const toDay = last < span.to_day ? last : span.to_day
  if (fromDay > toDay) return []
  return [{ ...account, clientId: span.client_id, fromDay, toDay: toDay === END ? null : toDay }]
}

const END = 'infinity'

/** @param place of an account, from 1. */
function add(amounts: bigint[], place: string, pico: string): void {
  const at = Number(place) - 1
  amounts[at] = (amounts[at] ?? 0n) + BigInt(pico)
}

/** With the parts that these accounts need, built once. */
function statementFor(accounts: readonly SpendAccount[]): string {
  const shapes = ACCOUNT_SHAPES.filter(({ ofKey, ofModel }) =>
    accounts.some(
      ({ axis = null, keyId, model }) =>
        axis === null && (keyId !== null) === ofKey && (model !== null) === ofModel,
    ),
  )
  const hasValues = accounts.some(({ axis = null }) => axis !== null)
  const name = [hasValues, ...shapes.map(({ ofKey, ofModel }) => `${ofKey} ${ofModel}`)].join()
  const known = STATEMENTS.get(name)
  if (known !== undefined) return known
  const statement = buildSpentStatement(shapes, hasValues)
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
