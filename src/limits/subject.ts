import { createHash } from 'node:crypto'
import type { Limit } from './limit.ts'

/**
 * What limits hold for, and what is spent of budgets: all calls of a client, those with one value of an axis, those of a
 * group's clients, or of these those with one value. A new kind of subject is a field here, a column of `limits`, a
 * part of `LimitTable`, and a part of the statement of what is spent.
 */
export interface SubjectScope {
  /** `null`: those of a group's clients. */
  readonly clientId: string | null
  readonly groupId: string | null
  /** Both or none: only calls with this value of this axis. */
  readonly axis: string | null
  readonly value: string | null
}

/** The same where most are clients: what is left out is `null`. */
export type WrittenScope = Pick<SubjectScope, 'clientId'> & Partial<SubjectScope>

/** Which calls of a subject a limit is about. Without a client and group it is the default of all clients. */
export interface LimitScope extends WrittenScope {
  readonly keyId: string | null
  /** Of a new limit: keys that were rotated into that one. */
  readonly formerKeys?: readonly string[]
  readonly model: string | null
}

export interface Subject extends SubjectScope {
  /** Unlike that of any other. It has the value in it. */
  readonly id: string
}

/** Names the client or the group whose calls they are. */
export function holderOf({ clientId, groupId }: Pick<SubjectScope, 'clientId' | 'groupId'>): string {
  return clientId ?? `group:${groupId}`
}

export function subjectOf(scope: SubjectScope): Subject {
  const { axis, value } = scope
  const whose = holderOf(scope)
  return { ...scope, id: axis === null ? whose : `${whose}\0${axis}\0${value}` }
}

const HASH_DIGITS = 22

/** Its name in Redis, which tells no value: values may name people. */
export function sharedName({ id, axis }: Subject): string {
  if (axis === null) return id
  const [whose = ''] = id.split('\0', 1)
  return `${whose}:${createHash('sha256').update(id).digest('base64url').slice(0, HASH_DIGITS)}`
}

/** Subjects of calls beside their clients. */
export interface OtherSubjects {
  /**
   * Those of a call that limits may hold for, always in one order: values, of the client before those of its groups, then
   * the groups themselves, from the nearest on. Empty: none.
   *
   * @param axes The values of the call, as its record has them.
   */
  of(clientId: string, axes: string | undefined): readonly Subject[]
  /** The same list until one of them changes. */
  limitsOf(subject: Subject): readonly Limit[]
}

export const NO_SUBJECTS: readonly Subject[] = []
const NO_LIMITS: readonly Limit[] = []

/** Clients alone. */
export const NO_OTHERS: OtherSubjects = { of: () => NO_SUBJECTS, limitsOf: () => NO_LIMITS }
