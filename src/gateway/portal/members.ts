import type { FastifyInstance } from 'fastify'
import type { SelfServiceConfig } from '../../config/yaml/self-service-config.ts'
import { policyOf } from '../../domain/member-policy.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { GatewayError } from '../../http/errors.ts'
import { endMemberToken } from '../../keys/tokens/portal-tokens.ts'
import { type Arrival, signInMember } from '../../limits/members/sign-in-member.ts'
import { MEMBERS, type SignInProvider } from '../../operator/sign-in/provider.ts'
import { type PersonSignInOptions, signInPeople } from '../../operator/sign-in/sign-in.ts'
import type { Postgres } from '../../store/connection/postgres.ts'

export type MemberSignIn = SignInProvider<SelfServiceConfig>

interface MemberSignInOptions extends Pick<PersonSignInOptions, 'peppers' | 'log' | 'now'> {
  readonly provider: MemberSignIn
  readonly pool: Postgres
}

const REFUSED: Readonly<Record<Extract<Arrival, { readonly refused: string }>['refused'], string>> = {
  group: 'The group that you are in is not there yet. Ask the operator to make it.',
  full: 'There are as many members as there may be. Ask the operator for more room.',
  disabled: 'You are disabled here. Ask the operator.',
}

/** Members of groups who sign in: a token of the page that may also make keys, within what their group allows. */
export function signInMembers(app: FastifyInstance, options: MemberSignInOptions): void {
  const { provider, pool, peppers, now } = options
  const { config } = provider
  signInPeople(app, {
    ...options,
    place: MEMBERS,
    tokens: 'member',
    // No server sees what stands behind #. The page fetches its token then, and nothing of it is in the address.
    landing: `${MEMBERS.home}#signed-in`,
    async admit({ subject, name, groups }, from) {
      const found = policyOf(config.policies, groups)
      if (found === null)
        throw new GatewayError('role_required', { message: `${name} is in no group that may sign in here.` })
      const member = { issuer: config.issuer, subject, name, from, ...found }
      const arrival = await signInMember(pool, member, config, peppers[0] ?? '', utcDayOf(now()))
      if ('refused' in arrival) throw new GatewayError('role_required', { message: REFUSED[arrival.refused] })
      return arrival.made.token
    },
    end: async (digests) => await endMemberToken(pool, digests),
  })
}
