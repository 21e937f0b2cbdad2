import { pepperId } from '../domain/api-key.ts'
import { type Finding, failure, ok, warning } from '../domain/conditions/finding.ts'
import type { Condition } from '../store/conditions/condition.ts'
import { selectLiving } from '../store/conditions/processes.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { countKeysByPepper } from './keys.ts'

/** Checks that every active key is hashed with a pepper that is still configured. */
async function checkKeys(pool: Postgres, peppers: readonly string[]): Promise<Finding> {
  const counts = await countKeysByPepper(pool)
  const uses = [...counts.values()]
  const total = uses.reduce((sum, { keys }) => sum + keys, 0)
  const secrets = uses.reduce((sum, use) => sum + use.secrets, 0)
  if (peppers.length === 0) {
    return warning('keys', `${total} active, not compared`, 'set KEY_PEPPER as the gateway has it to compare')
  }
  const known = peppers.map((pepper) => counts.get(pepperId(pepper)) ?? { keys: 0, secrets: 0 })
  const lost = total - known.reduce((sum, { keys }) => sum + keys, 0)
  if (lost > 0) {
    return failure(
      'keys',
      `${lost} of ${total} active keys are hashed with a secret that is not in KEY_PEPPER`,
      'add the old secret (new,old), or rotate those keys',
    )
  }
  const lostSecrets = secrets - known.reduce((sum, use) => sum + use.secrets, 0)
  if (lostSecrets > 0) {
    return failure(
      'keys',
      `the signing secrets of ${lostSecrets} active keys are made with a secret that is not in KEY_PEPPER`,
      'add the old secret (new,old), or make others: key sigv4 ID',
    )
  }
  const refusing = await findRefusing(pool, counts)
  if (refusing.length > 0) {
    return failure(
      'keys',
      `active keys are hashed with a secret that some gateways do not have, and are refused there: ${refusing.join(', ')}`,
      'start these gateways with the KEY_PEPPER of the others',
    )
  }
  if (known.slice(1).some((use) => use.keys + use.secrets === 0)) {
    return warning(
      'keys',
      `${total} active, none under an old secret`,
      'take the old secret out of KEY_PEPPER',
    )
  }
  return ok('keys', `${total} active`)
}

/** Gateways that run without the secret of a key, and of how many. */
async function findRefusing(
  pool: Postgres,
  counts: Awaited<ReturnType<typeof countKeysByPepper>>,
): Promise<readonly string[]> {
  return (await selectLiving(pool)).flatMap(({ kind, process, report: { pepperIds } }) => {
    // One of the release before does not say it.
    if (kind !== 'gateway' || pepperIds.length === 0) return []
    const refused = [...counts].reduce((sum, [id, { keys }]) => sum + (pepperIds.includes(id) ? 0 : keys), 0)
    return refused === 0 ? [] : `gateway ${process} (${refused} keys)`
  })
}

interface KeyPorts {
  readonly pool: Postgres
  /** The peppers of keys at rest; empty: not configured. */
  readonly keyPeppers: readonly string[]
}

export const KEY_CONDITIONS: readonly Condition<KeyPorts>[] = [
  {
    name: 'keys',
    place: 'postgres',
    severity: 'wrong',
    find: ({ pool, keyPeppers }) => checkKeys(pool, keyPeppers),
    readiness: { item: 'keys', lacks: ({ keysReady }) => !keysReady },
  },
]
