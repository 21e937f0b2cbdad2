import { fitsPattern } from './model-name.ts'

/** What members of one group may do for themselves. */
export interface MemberPolicy {
  /** The name or the id of the group. */
  readonly group: string
  /** Values of the claim that make a person its member, and its owner, compared character by character. */
  readonly members: readonly string[]
  readonly owners: readonly string[]
  /** Keys that go on, of each member. */
  readonly mostKeys: number
  /** Names or `prefix*`; `null`: every model. */
  readonly models: readonly string[] | null
  /** What a new member may spend a month, and the most that an owner may set, in pico-USD; `null`: no budget is set. */
  readonly memberBudgetPico: bigint | null
}

/** The policy of the first group that a person is in, and whether they own it; `null`: they are in none. */
export function policyOf(
  policies: readonly MemberPolicy[],
  groups: ReadonlySet<unknown>,
): { readonly policy: MemberPolicy; readonly isOwner: boolean } | null {
  const has = (values: readonly string[]) => values.some((value) => groups.has(value))
  const policy = policies.find(({ members, owners }) => has(members) || has(owners))
  return policy === undefined ? null : { policy, isOwner: has(policy.owners) }
}

/** Whether every model that `asked` lets through is one of `allowed`: names or `prefix*`; `null`: every model. */
export function isWithinModels(asked: readonly string[] | null, allowed: readonly string[] | null): boolean {
  if (allowed === null) return true
  const isAllowed = (model: string) => allowed.some((pattern) => fitsPattern(pattern, model))
  return asked?.every(isAllowed) === true
}
