import { hash } from 'node:crypto'
import { axesShapeOf } from '../../call/axes.ts'
import type { CountedCall } from '../../call/call-record.ts'
import { UNKNOWN_MODEL } from '../../domain/model-name.ts'
import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { OTHER_MODELS_TOTAL } from '../total-by-day.ts'
import { FIELD_COLUMNS, isAbsent, keyedBy, OWN_FIELDS, type OwnField, valueText } from './call-columns.ts'

/** A call as its row is written: under which kind, and what the kind cannot say of it. */
export interface KindOfCall {
  /** Its number in `call_kinds`, which Postgres gave. */
  readonly kind: string
  /** The digits of the usage, whose shape the kind has. */
  readonly usageDigits: string | null
  /** The values on axes, whose names the kind has; or all of their text, where the kind has none. */
  readonly axes: string | undefined
  readonly own: readonly OwnField[]
}

const NOTHING_OWN: readonly OwnField[] = []
/** A name that the catalog does not know, or is the client's 501st of the day, may be another in every call. */
const OWN_NAMES: readonly OwnField[] = ['requestedModel', 'reportedModel']
/** A path that names an object, such as a response or a file, is hardly ever called twice. Also in the migration. */
const NAMES_OBJECT = /[^/:]{20}/

/** New kinds of one client in one batch. Beyond these its calls have what may differ in rows of their own. */
const NEW_KINDS = 64
const ATTEMPTS = 5

interface Wanted {
  readonly day: UtcDay
  /** One of its calls, and what of that one is not the kind's. */
  readonly call: CountedCall
  readonly own: readonly OwnField[]
  readonly shape: string | null
  readonly axesShape: string | null
  readonly hash: string
  kind: string | null
}

interface Sorted {
  readonly call: CountedCall
  wanted: Wanted
  usageDigits: string | null
  axes: string | undefined
  /** Its own: another call of the kind may have none, where the kind has nothing. */
  own: readonly OwnField[]
}

/**
 * The kinds of calls, in their order. Those that the day lacks are made in this transaction. A kind has one client, so
 * that shards hardly ever wait for one another's.
 */
export async function kindsOf(
  session: PostgresSession,
  calls: readonly CountedCall[],
): Promise<readonly KindOfCall[]> {
  const wanted = new Map<string, Wanted>()
  const sorted = calls.map((call) => sortCall(wanted, call, ownFieldsOf(call)))
  let missing = await find(session, [...wanted.values()])
  const beyond = beyondNewKinds(missing)
  if (beyond.size > 0) {
    for (const each of sorted)
      if (beyond.has(each.wanted)) Object.assign(each, sortCall(wanted, each.call, OWN_FIELDS))
    const used = new Set(sorted.map((each) => each.wanted))
    missing = await find(
      session,
      [...used].filter(({ kind }) => kind === null),
    )
  }
  // A client may be given another name in between.
  for (let attempt = 1; missing.length > 0; attempt += 1) {
    if (attempt > ATTEMPTS) throw new Error('kinds of calls were added and are not there')
    await add(session, missing)
    missing = await find(session, missing)
  }
  return sorted.map(({ wanted: { kind }, usageDigits, axes, own }) => ({
    kind: kind as string,
    usageDigits,
    axes,
    own,
  }))
}

function ownFieldsOf(call: CountedCall): readonly OwnField[] {
  const { model } = call
  const names = model === UNKNOWN_MODEL || model === OTHER_MODELS_TOTAL ? OWN_NAMES : NOTHING_OWN
  return NAMES_OBJECT.test(call.path) ? [...names, 'path'] : names
}

function beyondNewKinds(missing: readonly Wanted[]): Set<Wanted> {
  const counts = new Map<string, number>()
  return new Set(
    missing.filter(({ call: { clientId } }) => {
      const count = (counts.get(clientId) ?? 0) + 1
      counts.set(clientId, count)
      return count > NEW_KINDS
    }),
  )
}

function sortCall(wanted: Map<string, Wanted>, call: CountedCall, own: readonly OwnField[]): Sorted {
  const day = utcDayOf(call.arrivedAtMs)
  const shaped = call.usageRaw === null || own === OWN_FIELDS ? null : usageShapeOf(call.usageRaw)
  const hasOwnUsage = call.usageRaw !== null && shaped === null && own !== OWN_FIELDS
  const owned: readonly OwnField[] = hasOwnUsage ? [...own, 'usageRaw'] : own
  const shape = shaped?.shape ?? null
  const named = call.axes === undefined || own === OWN_FIELDS ? null : axesShapeOf(call.axes)
  const axesShape = named?.shape ?? null
  const key = keyOf(call, day, owned, shape, axesShape)
  let found = wanted.get(key)
  if (found === undefined) {
    found = { day, call, own: owned, shape, axesShape, hash: hash('sha256', key).slice(0, 32), kind: null }
    wanted.set(key, found)
  }
  const axes = named?.values ?? call.axes
  return { call, wanted: found, usageDigits: shaped?.digits ?? null, axes, own: owned }
}

const KIND_FIELDS = keyedBy(FIELD_COLUMNS.filter(({ place, name }) => place !== 'row' && name !== 'usageRaw'))

/**
 * What names a kind. Postgres stores no text with a NUL, so that no two kinds share a key. Without names of axes it is
 * as workers before them have it, whose rows have the names in their own text.
 */
function keyOf(
  call: CountedCall,
  day: UtcDay,
  own: readonly OwnField[],
  shape: string | null,
  axesShape: string | null,
): string {
  let key = day
  for (const { name } of KIND_FIELDS) {
    const value = isOwn(own, name) ? null : call[name]
    key += isAbsent(value) ? '\0-' : `\0=${value}`
  }
  key += shape === null ? '\0-' : `\0=${shape}`
  return axesShape === null ? key : `${key}\0=${axesShape}`
}

function isOwn(own: readonly OwnField[], name: string): boolean {
  return own.length > 0 && (own as readonly string[]).includes(name)
}

/**
 * `offset 0` keeps Postgres from joining in another way than by the index: for a batch of a thousand kinds it would
 * read those of all days, as it reckons with pages that come from the disk.
 */
const FIND = `
select f.place - 1 as place, f.kind
from (
  select w.place, k.kind, k.client_id, k.client
  from unnest($1::date[], $2::uuid[]) with ordinality as w (day, hash, place),
    lateral (select * from ${SCHEMA}.call_kinds k where k.day = w.day and k.hash = w.hash offset 0) k
  offset 0) f
left join ${SCHEMA}.clients c on c.id = f.client_id
where f.client = coalesce(c.name, f.client_id)`

/** Fills in the kinds that the days have. @returns The others. */
async function find(session: PostgresSession, wanted: readonly Wanted[]): Promise<readonly Wanted[]> {
  const { rows } = await session.query<{ place: string; kind: string }>(FIND, [
    wanted.map(({ day }) => day),
    wanted.map(({ hash }) => hash),
  ])
  for (const { place, kind } of rows) {
    const found = wanted[Number(place)]
    if (found !== undefined) found.kind = kind
  }
  return wanted.filter(({ kind }) => kind === null)
}

const COLUMNS: readonly (readonly [column: string, type: string])[] = [
  ['day', 'date'],
  ['hash', 'uuid'],
  ['usage_shape', 'text'],
  ['axes_shape', 'text'],
  ...KIND_FIELDS.map(({ column, type }) => [column, type] as const),
]

/** In the order of the index, so that two transactions wait for one another in one direction only. */
const ADD = `
insert into ${SCHEMA}.call_kinds (client, ${COLUMNS.map(([column]) => column).join(', ')})
select coalesce(c.name, r.client_id),
  ${COLUMNS.map(([column, type]) => (type === 'boolean' ? `coalesce(r.${column}, false)` : `r.${column}`)).join(', ')}
from json_to_recordset($1) as r (${COLUMNS.map((column) => column.join(' ')).join(', ')})
left join ${SCHEMA}.clients c on c.id = r.client_id
order by r.day, r.hash
on conflict do nothing`

async function add(session: PostgresSession, wanted: readonly Wanted[]): Promise<void> {
  await session.query(ADD, [`[${wanted.map(kindText).join(',')}]`])
}

function kindText({ day, call, own, shape, axesShape, hash }: Wanted): string {
  let text = `{"day":"${day}","hash":"${hash}"`
  if (shape !== null) text += `,"usage_shape":${JSON.stringify(shape)}`
  if (axesShape !== null) text += `,"axes_shape":${JSON.stringify(axesShape)}`
  for (const { name, key, form } of KIND_FIELDS) {
    const value = call[name]
    if (!isAbsent(value) && !isOwn(own, name)) text += key + valueText(form, value)
  }
  return `${text}}`
}

/** A text with its digits apart from the rest, which many calls have alike. */
interface ShapedText {
  /** The text, each run of digits a `#`. */
  readonly shape: string
  /** The runs in their order, between commas. */
  readonly digits: string
}

/** Splits a usage object's text. `null`: it has a `#` of its own, so the two could not be put together again. */
export function usageShapeOf(text: string): ShapedText | null {
  if (text.includes('#')) return null
  const between = text.replace(/[^0-9]+/g, ',')
  return {
    shape: text.replace(/[0-9]+/g, '#'),
    digits: between.slice(between.startsWith(',') ? 1 : 0, between.endsWith(',') ? -1 : undefined),
  }
}
