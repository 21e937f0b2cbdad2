import { findClient } from '../keys/clients.ts'
import { findGroup } from '../keys/groups/groups.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import type { LimitScope } from './subject.ts'

/** Whose calls are meant, as operators write it. */
export interface NamedScope {
  /** A client's name; `null`: the defaults of all. */
  readonly client: string | null
  /** The id of one of its keys; `null`: all of them. */
  readonly key: string | null
  readonly model: string | null
  /** Values of this axis, each apart, or one of them. */
  readonly axis?: string | undefined
  readonly value?: string | undefined
  /** All clients of this group together: its name or id. */
  readonly group?: string | undefined
}

export type FoundScope =
  | { readonly kind: 'scope'; readonly scope: LimitScope }
  /** One sentence without its full stop, about the parameter. */
  | { readonly kind: 'problem'; readonly param: 'client' | 'key' | 'group'; readonly text: string }

/** Finds the client and its key by what operators call them. */
export async function findScope(
  pool: Postgres,
  { client, key, model, axis, value, group }: NamedScope,
): Promise<FoundScope> {
  const found = client === null ? null : await findClient(pool, client)
  if (client !== null && found === null)
    return { kind: 'problem', param: 'client', text: `there is no client named ${client}` }
  const clientId = found?.id ?? null
  const inGroup = group === undefined ? null : await findGroup(pool, group)
  if (group !== undefined && inGroup === null)
    return { kind: 'problem', param: 'group', text: `there is no group ${group}` }
  if (key !== null) {
    const { rows } = await pool.query<{ client_id: string; client: string }>(
      `select k.client_id, c.name as client from ${SCHEMA}.keys k join ${SCHEMA}.clients c on c.id = k.client_id
       where k.id = $1`,
      [key],
    )
    const [owner] = rows
    if (owner === undefined)
      return { kind: 'problem', param: 'key', text: `there is no key with the id ${key}` }
    if (owner.client_id !== clientId)
      return { kind: 'problem', param: 'key', text: `key ${key} is of the client ${owner.client}` }
  }
  return {
    kind: 'scope',
    scope: {
      clientId,
      keyId: key,
      model,
      axis: axis ?? null,
      value: value ?? null,
      groupId: inGroup?.id ?? null,
    },
  }
}
