import { type AxisValue, NO_VALUE, parseAxes } from '../../call/axes.ts'
import type { Limit } from '../limit.ts'
import {
  NO_OTHERS,
  NO_SUBJECTS,
  type OtherSubjects,
  type Subject,
  type SubjectScope,
  subjectOf,
} from '../subject.ts'
import type { ChangedLimit } from '../table/limit-rows.ts'

const NO_LIMITS: readonly Limit[] = []
const NO_VALUES: readonly AxisValue[] = []

class ClientLimits {
  readonly own: Limit[] = []
  /** With the defaults that hold for it; `null`: not worked out since the last change. */
  all: readonly Limit[] | null = null
}

/** The limits of one client, group, or the defaults for values of one axis. */
interface AxisLimits {
  readonly each: Limit[]
  readonly named: Map<string, Limit[]>
}

/** The groups that a client is in now, from the nearest to the root. */
export type GroupsOf = (clientId: string) => readonly string[]

/** The limits of all but clients: groups, and values of axes. Made again after each change of one of them. */
class OtherLimits implements OtherSubjects {
  readonly #groupsOf: GroupsOf
  /** By the id of a group. */
  readonly #ofGroups = new Map<string, Limit[]>()
  /** By axis, and whose they are; '': the defaults. */
  readonly #ofAxes = new Map<string, Map<string, AxisLimits>>()
  /** Who has limits of values; '': all clients, by a default. */
  readonly #owners = new Set<string>()
  /** In one order at all gateways. */
  readonly #axes: readonly string[]
  /** What was asked last: a call asks several times. */
  #asked: {
    readonly clientId: string
    readonly axes: string | undefined
    readonly groups: readonly string[]
  } | null = null
  #found: readonly Subject[] = NO_SUBJECTS
  /** Lists that were worked out, by what they are for. */
  readonly #lists = new Map<string, readonly Limit[]>()

  constructor(limits: readonly Limit[], groupsOf: GroupsOf) {
    this.#groupsOf = groupsOf
    for (const limit of limits) {
      const { clientId, groupId, axis, value } = limit
      if (axis === null) {
        if (groupId !== null) push(this.#ofGroups, groupId, limit)
        continue
      }
      const owners = this.#ofAxes.get(axis) ?? new Map<string, AxisLimits>()
      this.#ofAxes.set(axis, owners)
      const owner = ownerOf({ clientId, groupId })
      this.#owners.add(owner)
      const found = owners.get(owner) ?? { each: [], named: new Map<string, Limit[]>() }
      owners.set(owner, found)
      if (value === null) found.each.push(limit)
      else push(found.named, value, limit)
    }
    this.#axes = [...this.#ofAxes.keys()].sort()
  }

  of(clientId: string, axes: string | undefined): readonly Subject[] {
    const groups = this.#groupsOf(clientId)
    const hasValues = this.#owners.has('') || this.#owners.has(clientId)
    if (groups.length === 0 && !hasValues) return NO_SUBJECTS
    const last = this.#asked
    if (last?.clientId === clientId && last.axes === axes && last.groups === groups) return this.#found
    this.#asked = { clientId, axes, groups }
    this.#found = this.#find(clientId, axes, groups, hasValues)
    return this.#found
  }

  #find(
    clientId: string,
    axes: string | undefined,
    groups: readonly string[],
    hasValues: boolean,
  ): readonly Subject[] {
    const found: Subject[] = []
    const ofGroups: Subject[] = []
    const values = this.#owners.size === 0 ? NO_VALUES : parseAxes(axes)
    const add = (scope: Pick<SubjectScope, 'clientId' | 'groupId'>) => {
      for (const axis of this.#axes) {
        const value = values.find((own) => own.axis === axis)?.value ?? NO_VALUE
        if (this.#listOf(scope, axis, value).length > 0) found.push(subjectOf({ ...scope, axis, value }))
      }
    }
    if (hasValues) add({ clientId, groupId: null })
    for (const groupId of groups) {
      if (this.#ofGroups.has(groupId)) ofGroups.push(subjectOf({ ...OF_NONE, groupId }))
      if (this.#owners.has(ownerOf({ clientId: null, groupId }))) add({ clientId: null, groupId })
    }
    return ofGroups.length === 0 ? found : [...found, ...ofGroups]
  }

  /** All that may hold for calls of the client. */
  holding(clientId: string): readonly Limit[] {
    const groups = this.#groupsOf(clientId)
    const ofAxes = [...this.#ofAxes.values()].flatMap((owners) => {
      const all = (owner: string) => {
        const { each = [], named = new Map<string, Limit[]>() } = owners.get(owner) ?? {}
        return [...each, ...[...named.values()].flat()]
      }
      const ofGroups = groups.flatMap((groupId) => all(ownerOf({ clientId: null, groupId })))
      return [...withDefaults(all(clientId), all('')), ...ofGroups]
    })
    return [...groups.flatMap((groupId) => this.#ofGroups.get(groupId) ?? []), ...ofAxes]
  }

  limitsOf({ clientId, groupId, axis, value }: Subject): readonly Limit[] {
    if (axis === null || value === null) return this.#ofGroups.get(groupId ?? '') ?? NO_LIMITS
    return this.#listOf({ clientId, groupId }, axis, value)
  }

  /** Those for a value apart take the place of those for each, and a client's own that of the defaults. */
  #listOf(scope: Pick<SubjectScope, 'clientId' | 'groupId'>, axis: string, value: string): readonly Limit[] {
    const owners = this.#ofAxes.get(axis)
    const own = owners?.get(ownerOf(scope))
    const defaults = scope.clientId === null ? undefined : owners?.get('')
    if (own === undefined && defaults === undefined) return NO_LIMITS
    const isNamed = own?.named.has(value) === true || defaults?.named.has(value) === true
    // Calls without a value are held to what names them, and are not one value among others.
    if (value === NO_VALUE && !isNamed) return NO_LIMITS
    const name = `${ownerOf(scope)}\0${axis}\0${isNamed ? value : ''}`
    const known = this.#lists.get(name)
    if (known !== undefined) return known
    const found = (limits: AxisLimits | undefined) =>
      withDefaults(limits?.named.get(value) ?? [], value === NO_VALUE ? [] : (limits?.each ?? []), value)
    const list = withDefaults(found(own), found(defaults), value)
    this.#lists.set(name, list)
    return list
  }
}

const OF_NONE: SubjectScope = { clientId: null, groupId: null, axis: null, value: null }

function ownerOf({ clientId, groupId }: Pick<SubjectScope, 'clientId' | 'groupId'>): string {
  return clientId ?? (groupId === null ? '' : `group ${groupId}`)
}

function push(lists: Map<string, Limit[]>, name: string, limit: Limit): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [limit])
  else list.push(limit)
}

function isOfOther({ groupId, axis }: Limit): boolean {
  return groupId !== null || axis !== null
}

/** Clients whose limits changed; `null`: any. */
export type ChangedClients = ReadonlySet<string> | null

/** The limits known to this process. */
export class LimitTable {
  readonly #byId = new Map<string, Limit>()
  readonly #byClient = new Map<string, ClientLimits>()
  #defaults: readonly Limit[] = NO_LIMITS
  readonly #groupsOf: GroupsOf
  #others: OtherLimits | null = null
  /** The limits that a reading of all of them has found; `null`: none is under way. */
  #found: Set<string> | null = null

  constructor(groupsOf: GroupsOf = () => []) {
    this.#groupsOf = groupsOf
  }

  get size(): number {
    return this.#byId.size
  }

  /** Groups, and values of axes: another object after a change of their limits. */
  get others(): OtherSubjects {
    return this.#others ?? NO_OTHERS
  }

  /** Of its groups, and of values of axes, those that may hold for calls of a client. */
  besides(clientId: string): readonly Limit[] {
    return this.#others?.holding(clientId) ?? NO_LIMITS
  }

  /**
   * The limits that hold for calls of a client. An own one of the same kind, period and softness for the same model
   * takes a default's place. The list stays the same object until one of them changes.
   */
  of(clientId: string): readonly Limit[] {
    const client = this.#byClient.get(clientId)
    if (client === undefined) return this.#defaults
    client.all ??= withDefaults(client.own, this.#defaults)
    return client.all
  }

  /** Brings in what changed. Returns whose limits are others now; an empty set: those of no client. */
  update(changes: Iterable<ChangedLimit>): ChangedClients {
    const clients = new Set<string>()
    let isDefault = false
    let isOther = false
    for (const { id, limit } of changes) {
      this.#found?.add(id)
      const known = this.#byId.get(id) ?? null
      if (known === null && limit === null) continue
      if (known !== null && limit !== null && isSameLimit(known, limit)) continue
      this.#replace(id, known, limit)
      const changed = limit ?? known
      isOther ||= changed !== null && isOfOther(changed)
      const clientId = changed?.clientId ?? null
      if (clientId === null) isDefault = true
      else clients.add(clientId)
    }
    if (isOther) {
      const others = [...this.#byId.values()].filter(isOfOther)
      this.#others = others.length === 0 ? null : new OtherLimits(others, this.#groupsOf)
    }
    if (!isDefault) return clients
    this.#defaults = [...this.#byId.values()].filter((limit) => limit.clientId === null && !isOfOther(limit))
    for (const client of this.#byClient.values()) client.all = null
    return null
  }

  /** Begins a reading of all limits, in any number of updates. */
  beginReading(): void {
    this.#found = new Set()
  }

  /** Removes every limit that the reading has not found. Returns whose limits are others now. */
  endReading(): ChangedClients {
    const found = this.#found ?? new Set()
    this.#found = null
    const lost = [...this.#byId.keys()].filter((id) => !found.has(id))
    return this.update(lost.map((id) => ({ id, limit: null })))
  }

  #replace(id: string, known: Limit | null, limit: Limit | null): void {
    if (limit === null) this.#byId.delete(id)
    else this.#byId.set(id, limit)
    const changed = limit ?? known
    const clientId = changed?.clientId ?? null
    if (changed === null || clientId === null || isOfOther(changed)) return
    let client = this.#byClient.get(clientId)
    if (client === undefined) {
      client = new ClientLimits()
      this.#byClient.set(clientId, client)
    }
    client.all = null
    const index = known === null ? -1 : client.own.indexOf(known)
    if (limit !== null && index >= 0) client.own[index] = limit
    else if (limit !== null) client.own.push(limit)
    else if (index >= 0) client.own.splice(index, 1)
    if (client.own.length === 0) this.#byClient.delete(clientId)
  }
}

/**
 * A client's own limits, and those defaults whose place none of them takes.
 *
 * @param value All of them hold for this value of an axis; `null`: for whichever calls.
 */
export function withDefaults(
  own: readonly Limit[],
  defaults: readonly Limit[],
  value: string | null = null,
): readonly Limit[] {
  if (defaults.length === 0) return own.slice()
  return [...own, ...defaults.filter((limit) => !own.some((other) => takesPlaceOf(other, limit, value)))]
}

function takesPlaceOf(own: Limit, other: Limit, value: string | null): boolean {
  return (
    (own.value === null || own.value === (value ?? other.value)) &&
    own.keyId === other.keyId &&
    own.axis === other.axis &&
    own.kind === other.kind &&
    own.per === other.per &&
    own.isSoft === other.isSoft &&
    own.model === other.model
  )
}

function isSameLimit(one: Limit, other: Limit): boolean {
  return (
    one.amount === other.amount &&
    one.raise?.amount === other.raise?.amount &&
    one.raise?.untilMs === other.raise?.untilMs &&
    one.since === other.since &&
    one.countsCached === other.countsCached &&
    one.allowsUnpriced === other.allowsUnpriced &&
    one.whenAlone === other.whenAlone &&
    one.clientId === other.clientId &&
    one.groupId === other.groupId &&
    one.axis === other.axis &&
    one.value === other.value &&
    one.keyId === other.keyId &&
    one.formerKeys.length === other.formerKeys.length &&
    one.model === other.model &&
    one.kind === other.kind &&
    one.per === other.per &&
    one.isSoft === other.isSoft
  )
}
