import { createHash } from 'node:crypto'
import { toBase62 } from '../domain/base62.ts'
import { isName } from '../domain/names.ts'
import { beginAudit, endAudit, recordChanges } from '../operations/audit/audit-table.ts'
import { inTransactionOr, type Postgres, type PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { createClientIn } from './clients.ts'
import { changing, lockKeyVersion } from './key-version.ts'

/** Someone whom a company's own provider or proxy vouches for, as one of a client. */
export interface Identity {
  /** The name of the provider, or `proxy`. */
  readonly source: string
  /** What the provider calls itself. */
  readonly issuer: string
  readonly subject: string
  /** The client's name. */
  readonly client: string
}

/** How many there may be, in all. */
export interface IdentityBounds {
  readonly mostKeys: number
  readonly mostClients: number
}

/** `client`: there is no such client, and none may be made. `full`: there are as many as may be. */
export type Registration = 'made' | 'client' | 'full'

/**
 * The id of the key that stands for an identity, which is the same for ever and everywhere. Issuer, subject and client
 * are in it, so an identity that moves to another client has another key.
 */
export function identityKeyId(identity: Identity): string {
  const digits = [0, 5, 10, 15].map((at) => toBase62(digestOf(identity).readUIntBE(at, 5) % 62 ** 5, 5))
  return `key_${digits.join('')}`
}

function digestOf({ issuer, subject, client }: Identity): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([issuer, subject, client]))
    .digest()
}

/**
 * Makes the key of an identity that is seen for the first time, and its client where a rule allows that. It has no text, so
 * it is of no use without that source. The audit names the source.
 *
 * @throws When Postgres is unreachable.
 */
export async function registerIdentity(
  pool: Postgres,
  identity: Identity,
  bounds: IdentityBounds,
): Promise<Registration> {
  return await inTransactionOr(pool, async (session) => {
    await lockKeyVersion(session) // so that two gateways do not both find room for the last one
    const origin = `identity:${identity.source}`
    const auditId = await beginAudit(
      session,
      { name: origin, from: origin, who: origin },
      'identity.first_seen',
    )
    await recordChanges(session, auditId)
    const result = await register(session, identity, bounds)
    const keyId = identityKeyId(identity)
    await endAudit(session, auditId, { key: keyId })
    return { isKept: result === 'made', result }
  })
}

async function register(
  session: PostgresSession,
  identity: Identity,
  { mostKeys, mostClients }: IdentityBounds,
): Promise<Registration> {
  const count = await session.query<{ keys: number; clients: number; has_client: boolean }>(
    `select (select count(*)::int from ${SCHEMA}.keys where digest_of = 'identity') as keys,
       (select count(*)::int from ${SCHEMA}.clients where starts_with(origin, 'identity:')) as clients,
       exists (select from ${SCHEMA}.clients where name = $1) as has_client`,
    [identity.client],
  )
  const { keys = 0, clients = 0, has_client: hasClient = false } = count.rows[0] ?? {}
  if (!hasClient) {
    if (mostClients === 0) return 'client'
    if (clients >= mostClients) return 'full'
  }
  if (keys >= mostKeys) return 'full'
  const keyId = identityKeyId(identity)
  // By its first identity: a client that was renamed has left its name to another.
  if (!hasClient) await createClientIn(session, identity.client, `identity:${keyId}`)
  await session.query(
    changing(`insert into ${SCHEMA}.keys
        (id, client_id, name, prefix, digest, digest_of, pepper_id, version)
      select $1, c.id, $3, $4, $5, 'identity', '', change.version
      from ${SCHEMA}.clients c, change where c.name = $2 on conflict do nothing`),
    [keyId, identity.client, labelOf(identity, keyId), identity.source, digestOf(identity)],
  )
  return 'made'
}

/** The subject, where it can be a label: people know it. */
function labelOf({ subject }: Identity, keyId: string): string {
  return isName(subject) ? subject : keyId
}
