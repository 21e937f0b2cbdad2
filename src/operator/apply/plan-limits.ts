import type { LimitDocument } from '../../limits/operations/limit-answers.ts'
import { optionOf } from '../../limits/operations/limit-commands.ts'
import { readAmount } from '../../limits/operations/limit-terms.ts'
import type { TriedDocument } from '../../limits/operations/tried.ts'
import { type ApplyStep, declaredKeyPlace, type KeyIds, step } from './apply-step.ts'
import { type DeclaredLimit, sortOf } from './declared.ts'

/** Of a client, a group, or neither: the defaults. */
export interface LimitOwner {
  readonly client: string | null
  readonly group?: string
}

/** A limit that holds, or is tried. */
type StandingLimit = Pick<
  LimitDocument,
  | ('id' | 'kind' | 'limit' | 'per' | 'soft' | 'key' | 'model' | 'axis' | 'value')
  | ('since' | 'cached' | 'unpriced' | 'when_alone')
> & { readonly tried: boolean }

export function standingLimit(limit: LimitDocument): StandingLimit {
  return { ...limit, tried: false }
}

export function standingTrial(tried: TriedDocument): StandingLimit {
  return { ...tried, soft: false, axis: null, value: null, tried: true }
}

/** A limit that is tried, and declared with the same terms to hold, is enforced. */
export function planLimits(
  owner: LimitOwner,
  wanted: readonly DeclaredLimit[],
  own: readonly StandingLimit[],
  keys: KeyIds,
  steps: ApplyStep[],
  gone: ApplyStep[],
): void {
  const { client, group } = owner
  const who = group === undefined ? (client ?? 'defaults') : `group ${group}`
  const nameOf = (id: string) => [...keys].find(([, known]) => known === id)?.[0].split('\0')[1] ?? id
  const sortOfStanding = ({ kind, per, soft, key, model, axis, value, tried }: StandingLimit) =>
    sortOf({
      ...{ kind, soft, tried },
      ...(per === null ? {} : { per }),
      ...(key === null ? {} : { key: nameOf(key) }),
      ...(model === null ? {} : { model }),
      ...(axis === null ? {} : { axis }),
      ...(value === null ? {} : { value }),
    })
  const standing = new Map(own.map((limit) => [sortOfStanding(limit), limit]))
  const left = new Map(standing)
  for (const limit of wanted) left.delete(sortOf(limit))
  for (const limit of wanted) {
    const there = standing.get(sortOf(limit))
    const differences = there === undefined ? [] : differencesOf(there, limit)
    if (there !== undefined && differences.length === 0) continue
    const name = `${who}: ${sortOf(limit)}`
    const sortTried = sortOf({ ...limit, tried: true })
    const tried = there === undefined ? left.get(sortTried) : undefined
    if (tried !== undefined && differencesOf(tried, limit).length === 0) {
      left.delete(sortTried)
      const { id } = tried
      steps.push({
        ...step('change', 'limit', name, 'limits.enforce', () => ({ id })),
        detail: 'tried -> held',
      })
      continue
    }
    const { key } = limit
    steps.push({
      action: there === undefined ? 'create' : 'change',
      what: 'limit',
      name,
      detail: there === undefined ? `${limit.limit}` : differences.join(', '),
      operation: limit.tried ? 'limits.try' : 'limits.set',
      input: (ids) => ({
        ...(limit.tried ? orderToTry(limit, client) : { ...orderToSet(limit), ...owner }),
        ...(key === undefined ? {} : { key: ids.get(declaredKeyPlace(client, key)) ?? key }),
      }),
    })
  }
  for (const [sort, { id, tried }] of left)
    gone.push(
      step('remove', 'limit', `${who}: ${sort}`, tried ? 'limits.drop' : 'limits.remove', () => ({ id })),
    )
}

function orderToSet({ tried: _, ...limit }: DeclaredLimit) {
  return limit
}

function orderToTry(limit: DeclaredLimit, client: string | null) {
  const { kind, limit: amount, per, model, since, cached, unpriced, when_alone } = limit
  const of = client === null ? { default: true } : { client }
  return { ...of, ...{ [optionOf(kind)]: amount, per, model, since, cached, unpriced, when_alone } }
}

/** What the file says of a limit, and what it does not say stays. */
function differencesOf(there: StandingLimit, wanted: DeclaredLimit): readonly string[] {
  const amount = readAmount(wanted.kind, 'limit', wanted.limit)
  const settings = (['since', 'cached', 'unpriced', 'when_alone'] as const).flatMap((name) =>
    wanted[name] === undefined || wanted[name] === there[name]
      ? []
      : [`${name} ${there[name]} -> ${wanted[name]}`],
  )
  if (amount === readAmount(there.kind, 'limit', there.limit)) return settings
  return [`${there.limit} -> ${wanted.limit}`, ...settings]
}
