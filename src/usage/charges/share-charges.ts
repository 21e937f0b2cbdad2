import { daysOfMonth, type UtcMonth } from '../../domain/utc-month.ts'
import { conflict } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type Charge, shareOut, spreadCommitment } from './charge.ts'
import {
  addParts,
  isShared,
  lockUnassigned,
  type SharedPart,
  type ShareKey,
  selectCharges,
  selectCovered,
  selectWeights,
} from './charges-table.ts'

interface Sharing {
  readonly month: UtcMonth
  readonly by: ShareKey
  /** Whether what was used of commitments is shared out, too. */
  readonly used: boolean
  readonly reason: string
}

/**
 * Shares what no client pays of a month out to its clients, in one transaction. What was shared out before stays.
 *
 * @returns The parts.
 * @throws {GatewayError} `conflict`: no client used anything by the key, or a charge has the name of a part.
 */
export async function shareCharges(
  pool: Postgres,
  { month, by, used, reason }: Sharing,
): Promise<readonly Charge[]> {
  const { from: fromDay, to: toDay } = daysOfMonth(month)
  const scope = { period: { fromDay, toDay }, clientId: null }
  // One that is set, removed or shared out at the same time would leave parts of what it was.
  await lockUnassigned(pool, scope.period)
  const weights = await selectWeights(pool, scope.period, by)
  const sources: string[] = []
  for (const charge of await selectCharges(pool, scope)) {
    if (charge.clientId !== null || charge.sharedFrom !== null || (await isShared(pool, charge.id))) continue
    const parts = await partsOf(pool, charge, weights, used)
    if (parts === null)
      throw conflict(`No client has anything in ${month} that ${charge.name} could be shared by.`, 'share_by')
    if (parts.length === 0) continue
    if (!(await addParts(pool, charge, parts, reason)))
      throw conflict(`Another charge has the name of a part of ${charge.name}: set it under another name.`)
    sources.push(charge.id)
  }
  const parts = await selectCharges(pool, scope)
  return parts.filter(({ sharedFrom }) => sharedFrom !== null && sources.includes(sharedFrom))
}

/** `null`: there is something to share out, and no client to have it. */
async function partsOf(
  pool: Postgres,
  charge: Charge,
  weights: ReadonlyMap<string, bigint>,
  used: boolean,
): Promise<readonly SharedPart[] | null> {
  const asParts = (shares: ReadonlyMap<string, bigint>, part: SharedPart['part']) =>
    [...shares].flatMap(([clientId, amountPico]) =>
      amountPico === 0n ? [] : [{ clientId, part, amountPico }],
    )
  if (charge.category !== 'commitment') {
    const shares = shareOut(charge.amountPico, weights)
    return shares.size === 0 ? null : asParts(shares, 'whole')
  }
  const { byClient, unusedPico } = spreadCommitment(charge, await selectCovered(pool, charge))
  const unused = shareOut(unusedPico, weights)
  if (unused.size === 0 && unusedPico !== 0n) return null
  return [...(used ? asParts(byClient, 'used') : []), ...asParts(unused, 'unused')]
}
