import type { FastifyInstance } from 'fastify'
import { isName } from '../../domain/names.ts'
import { GatewayError } from '../../http/errors.ts'
import { createPersonToken, endPersonToken, PERSON } from '../../keys/tokens/operator-tokens.ts'
import { OPERATOR_ROLES } from '../../operations/operation.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type PageFile, servePage } from '../page.ts'
import { OPERATORS, type SignInProvider } from './provider.ts'
import { type PersonSignInOptions, signInPeople } from './sign-in.ts'

export interface OperatorSignInOptions extends Pick<PersonSignInOptions, 'peppers' | 'log' | 'now'> {
  readonly provider: SignInProvider
  readonly pool: Postgres
}

/** Operators who sign in: they have the highest role of all their groups. */
export function signInOperators(app: FastifyInstance, options: OperatorSignInOptions): void {
  const { provider, pool, peppers } = options
  const { roles, sessionSeconds } = provider.config
  signInPeople(app, {
    ...options,
    place: OPERATORS,
    tokens: 'operator',
    landing: `${OPERATORS.path}/done`,
    async admit({ name: person, groups }, from) {
      const role = OPERATOR_ROLES.findLast((one) => roles[one].some((group) => groups.has(group)))
      const name = `${PERSON}${person}`
      if (role === undefined || !isName(name))
        throw new GatewayError('role_required', {
          message: `${person} is in no group that has a role here.`,
        })
      const order = { name, from, role, expiresInSeconds: sessionSeconds }
      const made = await createPersonToken(pool, order, peppers[0] ?? '')
      if (made === null) throw new GatewayError('storage_unavailable')
      return made.token
    },
    end: async (digests) => await endPersonToken(pool, digests),
  })
  servePage(app, {
    path: `${OPERATORS.path}/done`,
    page: file('done.html', 'html'),
    files: [file('done.js', 'javascript')],
  })
}

function file(name: string, type: string): PageFile {
  return { name, type: `text/${type}; charset=utf-8`, url: new URL(`./${name}`, import.meta.url) }
}
