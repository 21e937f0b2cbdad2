import { z } from 'zod'
import type { MemberPolicy } from '../../domain/member-policy.ts'
import { isModelPattern, isName } from '../../domain/names.ts'
import { isUsdText, parseUsdText } from '../../domain/pico-usd.ts'
import type { Environment } from '../environment.ts'
import { claimedGroups, type OidcConfig, oidcFields, oidcFrom } from './sign-in-config.ts'

/** How members of groups make keys of their own: the `self_service` of the YAML file. */
export interface SelfServiceConfig extends OidcConfig {
  /** A member's keys end so many days after their last sign-in. */
  readonly memberDays: number
  /** Clients that are made for members, in all. */
  readonly mostMembers: number
  /** The first that a person's claim fits is theirs. */
  readonly policies: readonly MemberPolicy[]
}

const BUDGET_RULE = 'must be US dollars above 0, such as 50, up to 1000000000'
const MOST_BUDGET_PICO = 10n ** 21n

const policy = z
  .strictObject({
    group: z.string().refine(isName, 'must be the name or the id of a group'),
    members: claimedGroups,
    owners: claimedGroups,
    most_keys: z.int().min(1, 'must be 1 or more').max(100, 'must be at most 100').default(5),
    models: z
      .array(z.string().refine(isModelPattern, 'must be the name of a model; a * may only end it'))
      .min(1, 'must name a model, or be left out for all of them')
      .max(1_000, 'must be at most 1000 names')
      .optional(),
    member_budget_usd: z
      .union([z.string(), z.number()], BUDGET_RULE)
      .transform((written, context) => {
        const pico = isUsdText(`${written}`) ? parseUsdText(`${written}`) : 0n
        if (pico > 0n && pico <= MOST_BUDGET_PICO) return pico
        context.addIssue(BUDGET_RULE)
        return z.NEVER
      })
      .optional(),
  })
  .refine(({ members, owners }) => members.length + owners.length > 0, 'must have members or owners')
  .transform(
    ({ most_keys: mostKeys, models, member_budget_usd: budget, ...rest }): MemberPolicy => ({
      ...rest,
      mostKeys,
      models: models ?? null,
      memberBudgetPico: budget ?? null,
    }),
  )

/** @param env with the secret of the client. */
export function selfServiceShape(env: Environment): z.ZodType<SelfServiceConfig> {
  return z
    .strictObject({
      ...oidcFields(env),
      member_days: z.int().min(1, 'must be 1 or more').max(90, 'must be at most 90').default(30),
      most_members: z.int().min(1, 'must be 1 or more').max(100_000, 'must be at most 100000').default(1_000),
      groups: z
        .array(policy)
        .min(1, 'must name a group')
        .max(1_000, 'must be at most 1000')
        .refine(
          (all) => new Set(all.map(({ group }) => group)).size === all.length,
          'must name each group once',
        ),
    })
    .transform(({ member_days, most_members, groups, ...written }) => ({
      ...oidcFrom(written, env),
      memberDays: member_days,
      mostMembers: most_members,
      policies: groups,
    }))
}
