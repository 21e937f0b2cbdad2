/** The fields of a key that operators are shown. */
export interface ListedKey {
  readonly id: string
  /** The client's name. */
  readonly client: string
  /** The key's label. */
  readonly name: string
  readonly prefix: string
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
}

/** A key just made, with its secret. */
export interface ShownOnceKey extends ListedKey {
  readonly key: string
}

/** A key as JSON, without its secret; the same on the command line and over HTTP. */
export function renderKey({ id, client, name, prefix, expiresAt, revokedAt, lastUsedAt }: ListedKey) {
  return {
    id,
    client,
    name,
    prefix,
    expires_at: timeOf(expiresAt),
    revoked_at: timeOf(revokedAt),
    last_used_at: timeOf(lastUsedAt),
  }
}

/** A key at its making, as JSON: the only document that holds a secret. */
export function renderNewKey({ id, client, name, prefix, key, expiresAt }: ShownOnceKey) {
  return { id, client, name, prefix, key, expires_at: timeOf(expiresAt) }
}

function timeOf(time: Date | null): string | null {
  return time?.toISOString() ?? null
}
