import type { AccountShare, GatewayField } from './gateway-field.ts'
import type { SharedSnapshot } from './spent-snapshots.ts'

/**
 * What a gateway said of readings of Postgres stays so when it says it no more: it has gone over to other readings,
 * and others have not.
 *
 * @param earlier What the same gateway reported before.
 * @param snapshots Those that are still of use here.
 */
export function keepAnswers(
  field: GatewayField,
  earlier: GatewayField,
  snapshots: readonly SharedSnapshot[],
): GatewayField {
  const accounts = new Map<string, AccountShare>()
  for (const [key, share] of field.accounts) {
    const known = earlier.accounts.get(key)
    // A process that begins again under the same name begins to count again.
    const isSame = known !== undefined && known.recorded <= share.recorded
    accounts.set(key, isSame ? keepShare(share, known, earlier.producer, snapshots) : share)
  }
  return { ...field, accounts }
}

function keepShare(
  share: AccountShare,
  known: AccountShare,
  producer: string,
  snapshots: readonly SharedSnapshot[],
): AccountShare {
  const counted = new Map(share.counted)
  const countedAtLeast = new Map<string, bigint>()
  for (const { id, offsets } of snapshots) {
    if (counted.has(id)) continue
    const answer = known.counted.get(id)
    const offset = offsets.get(producer)
    if (answer !== undefined) counted.set(id, answer)
    else if (offset !== undefined && offset >= known.lastSequence) countedAtLeast.set(id, known.recorded)
    else countedAtLeast.set(id, known.countedAtLeast.get(id) ?? 0n)
  }
  return { ...share, counted, countedAtLeast }
}
