import { fitsPattern } from '../../domain/model-name.ts'
import { isModelPattern, isName } from '../../domain/names.ts'
import { type MappedLimit, mapLimits, shown } from './map-limits.ts'
import {
  columnText,
  columnTexts,
  expiryOf,
  indexRows,
  type LiteLlmTables,
  misshapenColumns,
  type Row,
} from './tables.ts'

/** The client that keys of a team or a user get. */
export interface PlannedClient {
  /** `litellm:team:ID`: what tells it at the next import. */
  readonly origin: string
  readonly name: string
  /** Its name where another client has that. */
  readonly otherName: string
  readonly isDisabled: boolean
  readonly limits: readonly MappedLimit[]
}

/** A key that can be taken. */
export interface PlannedKey {
  /** SHA-256 of the key, 64 lower-case hex digits. */
  readonly sha256: string
  readonly name: string
  /** The part of the key that LiteLLM shows, or the beginning of its hash. */
  readonly prefix: string
  readonly client: PlannedClient
  readonly models: readonly string[] | null
  readonly expiresAt: Date | null
  readonly isRevoked: boolean
  readonly limits: readonly MappedLimit[]
  /** What is not taken of it. */
  readonly lost: readonly string[]
}

/** A key that is left where it is. */
export interface LeftKey {
  readonly name: string
  readonly prefix: string
  readonly why: string
}

export interface KeyPlan {
  readonly keys: readonly PlannedKey[]
  readonly left: readonly LeftKey[]
}

const SHA256 = /^[0-9a-f]{64}$/
/** As LiteLLM shows keys: `sk-...AbCd`. */
const SHOWN_KEY = /^sk-\.\.\.[\w-]{1,8}$/
/** Routes that calls of models are. Keys for other routes cannot be used here. */
const CALL_ROUTES = new Set(['llm_api_routes', 'openai_routes'])

/**
 * What LiteLLM's keys become here.
 *
 * @param takesPartly A key is taken too where a limit of it has nothing like it here: it may then spend more than there.
 */
export function planKeys(tables: LiteLlmTables, takesPartly: boolean): KeyPlan {
  const teams = indexRows(tables.teams, 'team_id')
  const users = indexRows(tables.users, 'user_id')
  const budgets = indexRows(tables.budgets, 'budget_id')
  const owners = new Map<string, Owner>()
  const keys: PlannedKey[] = []
  const left: LeftKey[] = []
  const rowsOf = Map.groupBy(tables.keys, (row) => columnText(row, 'token'))
  for (const row of tables.keys) {
    const named = nameOf(row)
    const sha256 = columnText(row, 'token')
    if (sha256 === null || !SHA256.test(sha256)) {
      left.push({ ...named, why: 'its token is not a SHA-256' })
      continue
    }
    const budget = budgets.get(columnText(row, 'budget_id') ?? '')
    const team = columnText(row, 'team_id')
    const user = columnText(row, 'user_id')
    const owner = ownerOf(row, teams, users, budgets, owners)
    const { limits, unmapped } = mapLimits(row, budget)
    const allowed = readAllowed(columnTexts(row, 'models'))
    const models = modelsOf(row, allowed, owner)
    const expiresAt = expiryOf(row)
    const routes = columnTexts(row, 'allowed_routes')
    const lost = [
      ...unmapped,
      ...owner.unmapped,
      ...(routes.every((route) => CALL_ROUTES.has(route)) ? [] : ['it is only for some routes']),
    ]
    const [misshapen] = [...misshapenColumns(row), ...misshapenColumns(budget), ...owner.misshapen]
    const why =
      // Of two rows, either may hold the key to less.
      (rowsOf.get(sha256)?.length ?? 0) > 1
        ? 'it stands there twice'
        : misshapen !== undefined
          ? `its ${misshapen}`
          : team !== null && !teams.has(team)
            ? `its team ${shown(team)} is not in the table of teams`
            : expiresAt === 'unreadable'
              ? 'its end is not a time'
              : routes.length > 0 && !routes.some((route) => CALL_ROUTES.has(route) || route.startsWith('/'))
                ? 'it is for management, not for calls'
                : models !== null && models.length === 0
                  ? 'it may use no model'
                  : lost.length > 0 && !takesPartly
                    ? lost.join('; ')
                    : null
    if (why !== null || expiresAt === 'unreadable') {
      left.push({ ...named, why: why ?? '' })
      continue
    }
    keys.push({
      ...named,
      sha256,
      client: owner.client,
      models,
      expiresAt,
      isRevoked: row.blocked === true,
      limits,
      lost: [
        ...lost,
        ...[...unsaidOf(allowed), ...unsaidOf(owner.allowed)].map(
          (name) => `its model ${shown(name)} is neither a name nor prefix*`,
        ),
        ...(user !== null && team !== null ? [`its user ${shown(user)} is not kept apart in the team`] : []),
        ...Object.keys(Object(row.aliases)).map((alias) => `its alias ${shown(alias)} for a model`),
      ],
    })
  }
  return { keys, left }
}

interface Owner {
  readonly client: PlannedClient
  readonly allowed: Allowed
  readonly models: readonly string[] | null
  readonly unmapped: readonly string[]
  readonly misshapen: readonly string[]
}

/** The team of a key, else its user, else none of them. */
function ownerOf(
  key: Row,
  teams: ReadonlyMap<string, Row>,
  users: ReadonlyMap<string, Row>,
  budgets: ReadonlyMap<string, Row>,
  known: Map<string, Owner>,
): Owner {
  const team = columnText(key, 'team_id')
  const user = columnText(key, 'user_id')
  const kind = team !== null ? 'team' : user !== null ? 'user' : 'none'
  const id = team ?? user ?? ''
  const origin = id === '' ? 'litellm:none' : `litellm:${kind}:${id}`
  const found = known.get(origin)
  if (found !== undefined) return found
  const row = (kind === 'team' ? teams : users).get(id) ?? {}
  const budget = budgets.get(columnText(row, 'budget_id') ?? '')
  const { limits, unmapped } = mapLimits(row, budget)
  const allowed = readAllowed(columnTexts(row, 'models'))
  const fallback = isName(id) ? id : 'litellm'
  const name =
    [columnText(row, 'team_alias'), columnText(row, 'user_alias'), columnText(row, 'user_email')].find(
      (alias) => alias !== null && isName(alias),
    ) ?? fallback
  const qualified = `${name.slice(0, 60)} (litellm ${id.slice(0, 50)})`
  const owner: Owner = {
    client: {
      origin: origin.replaceAll('\0', '\uFFFD'),
      name,
      otherName: isName(qualified) ? qualified : 'litellm (other)',
      isDisabled: row.blocked === true,
      limits,
    },
    allowed,
    models: allowed.kind === 'all' ? null : allowed.kind === 'list' ? allowed.models : [],
    unmapped: unmapped.map((text) => text.replace(/^its /, `its ${kind}'s `)),
    misshapen: [...misshapenColumns(row), ...misshapenColumns(budget)].map((text) => `${kind}'s ${text}`),
  }
  known.set(origin, owner)
  return owner
}

/** `null`: every model. `[]`: none. */
function modelsOf(key: Row, allowed: Allowed, owner: Owner): readonly string[] | null {
  switch (allowed.kind) {
    case 'none':
      return []
    case 'team':
      return columnText(key, 'team_id') === null ? [] : owner.models
    case 'all':
      return owner.models
    case 'list':
      return allowedByBoth(allowed.models, owner.models)
    default:
      return allowed satisfies never
  }
}

/** Names of a list that allow nothing here. */
function unsaidOf(allowed: Allowed): readonly string[] {
  return allowed.kind === 'list' ? allowed.unmapped : []
}

function nameOf(row: Row): { readonly name: string; readonly prefix: string } {
  const shownKey = columnText(row, 'key_name')
  const prefix =
    shownKey !== null && SHOWN_KEY.test(shownKey)
      ? shownKey
      : `sha256:${(columnText(row, 'token') ?? '').replace(/[^0-9a-f]/g, '').slice(0, 8)}`
  const alias = columnText(row, 'key_alias')
  return { name: alias !== null && isName(alias) ? alias : 'litellm', prefix }
}

/** Which models a row of LiteLLM allows. */
type Allowed =
  | { readonly kind: 'all' }
  | { readonly kind: 'list'; readonly models: readonly string[]; readonly unmapped: readonly string[] }
  /** None: the row says so, or nothing of its list can be said here. */
  | { readonly kind: 'none' }
  /** Those of its team. */
  | { readonly kind: 'team' }

const ALL = new Set(['*', 'all-proxy-models'])
const OF_TEAM = 'all-team-models'
const NONE = 'no-default-models'

/** Reads a column `models`. An empty one leaves the choice to the team, or allows all. */
function readAllowed(models: readonly string[]): Allowed {
  if (models.length === 0 || models.some((name) => ALL.has(name))) return { kind: 'all' }
  if (models.includes(OF_TEAM)) return { kind: 'team' }
  const named = models.filter((name) => name !== NONE)
  const kept = named.filter(isModelPattern)
  return kept.length === 0
    ? { kind: 'none' }
    : {
        kind: 'list',
        models: [...new Set(kept)],
        unmapped: named.filter((name) => !isModelPattern(name)),
      }
}

/** What two lists of patterns both allow; `null` stands for all models, and `[]` for none. */
function allowedByBoth(
  one: readonly string[] | null,
  other: readonly string[] | null,
): readonly string[] | null {
  if (one === null) return other
  if (other === null) return one
  return [
    ...new Set([
      ...one.filter((name) => other.some((pattern) => fitsPattern(pattern, name))),
      ...other.filter((name) => one.some((pattern) => fitsPattern(pattern, name))),
    ]),
  ]
}
