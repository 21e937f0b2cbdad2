import type { FastifyInstance, FastifyRequest, FastifyServerOptions } from 'fastify'
import type { SelfServiceConfig } from '../../config/yaml/self-service-config.ts'
import { policyOf } from '../../domain/member-policy.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { GatewayError } from '../../http/errors.ts'
import { health, type Readiness } from '../../http/listener.ts'
import { endMemberToken } from '../../keys/tokens/portal-tokens.ts'
import { type Arrival, nameOfMember, signInMember } from '../../limits/members/sign-in-member.ts'
import { mayDo, type Role } from '../../operations/operation.ts'
import { type AskingClient, NO_PROGRESS } from '../../operations/ports.ts'
import { allowMethods } from '../../operator/allow-methods.ts'
import { CLIENT_OPERATIONS, type OwnPorts } from '../../operator/chapters.ts'
import { pageFile } from '../../operator/dashboard.ts'
import { openListener } from '../../operator/open-listener.ts'
import { servePage } from '../../operator/page.ts'
import { serveOperations } from '../../operator/serve-operations.ts'
import { MEMBERS, type SignInProvider } from '../../operator/sign-in/provider.ts'
import { type PersonSignInOptions, signInPeople } from '../../operator/sign-in/sign-in.ts'
import { OwnPriceLists } from '../../pricing/own-price-lists.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type Summaries, TookTooLong } from '../routes/usage.ts'
import { matchesModel } from '../routing/upstream-table.ts'
import type { ShownModel } from '../upstream-models.ts'
import { requireSignIn, SIGNED_IN, type SignInOptions, signIn } from './sign-in.ts'

export interface PortalOptions extends SignInOptions {
  readonly logger: NonNullable<FastifyServerOptions['loggerInstance']>
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null
  /** Pages of these origins may show the clients' page in theirs. */
  readonly embedOrigins: readonly string[]
  readonly readiness: () => Readiness
  /** What queries of clients about themselves run on. */
  readonly pool: Postgres
  /** Each client's queries wait for themselves. */
  readonly summaries: Pick<Summaries, 'answer'>
  readonly listModels: () => readonly ShownModel[] | Promise<readonly ShownModel[]>
  /** `keyId` `null`: with any key. */
  readonly listLimits: (clientId: string, keyId: string | null) => Promise<readonly object[]>
  readonly shownPrices: OwnPorts['shownPrices']
  /** How members of groups sign in; `null`: they do not, and everybody can only read. */
  readonly selfService: MemberSignIn | null
  /** Announces to all gateways that clients, keys or limits changed. */
  readonly announceKeyChange: () => void
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

/**
 * The listener of the clients' page, not yet listening. It has no route of an operator, and nothing goes upstream from
 * it: a client sees its own figures. It can change nothing but what self-service lets members of groups.
 */
export function buildPortal(options: PortalOptions): FastifyInstance {
  const app = openListener(options.logger, options.tls)
  const priceLists = new OwnPriceLists()
  health(app, '', options.readiness)
  portalPage(app, options.embedOrigins, options.selfService !== null)
  if (options.selfService !== null)
    signInMembers(app, { ...options, provider: options.selfService, log: app.log })
  app.register(async (open) => signIn(open, options), { prefix: '/portal/v1' })
  app.register(
    async (guarded) => {
      requireSignIn(guarded, options)
      allowMethods(guarded)
      serveOperations(guarded, CLIENT_OPERATIONS, {
        ports: (request) => portsOf(askingOf(request, options), options, priceLists),
        actorOf: (request, needed) => {
          const client = askingOf(request, options)
          if (!mayDo(roleOf(client), needed))
            throw new GatewayError('role_required', { message: MAY_NOT[needed] })
          const name = client.member === null ? client.name : nameOfMember(client.name)
          return { name, from: request.ip, who: `${name} from ${request.ip}` }
        },
        announce: options.announceKeyChange,
        replicaLagMs: () => null,
        openLong() {
          throw new Error('no client may ask for what takes minutes')
        },
      })
    },
    { prefix: '/portal/v1' },
  )
  return app
}

const MAY_NOT: Readonly<Partial<Record<Role, string>>> = {
  member: 'This token can only read. Sign in with the account of the company to make keys.',
  owner: 'Only owners of a group may do that.',
}

function roleOf({ member }: AskingClient): Role {
  if (member === null) return 'client'
  return member.isOwner ? 'owner' : 'member'
}

/** A group that the configuration names no more allows nothing. */
function askingOf(request: FastifyRequest, { selfService }: PortalOptions): AskingClient {
  const holder = SIGNED_IN.get(request)
  if (holder === undefined) throw new GatewayError('invalid_api_key')
  const { member } = holder
  const policy = selfService?.config.policies.find(
    ({ group }) => group === member?.group.id || group === member?.group.name,
  )
  return { ...holder, member: member === null || policy === undefined ? null : { ...member, policy } }
}

function portsOf(client: AskingClient, options: PortalOptions, priceLists: OwnPriceLists): OwnPorts {
  const { pool, summaries, now, shownPrices } = options
  const inTurn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await summaries.answer(client.id, work)
    } catch (error) {
      if (error instanceof TookTooLong) throw new GatewayError('query_timeout', { cause: error })
      throw error
    }
  }
  return {
    client,
    pool,
    read: (work) => inTurn(() => work(pool)),
    now,
    holds: () => false,
    progress: () => NO_PROGRESS,
    remark() {},
    shownPrices,
    priceLists,
    newKeyPepper: () => options.peppers[0] ?? '',
    listLimits: () => inTurn(() => options.listLimits(client.id, client.key?.id ?? null)),
    async listModels() {
      const { models } = client
      const known = await options.listModels()
      return models === null ? known : known.filter(({ id }) => matchesModel(models, id))
    },
  }
}

/** `GET /portal`: the clients' page. It contains no figures: its script asks `/portal/v1` with the client's token. */
function portalPage(app: FastifyInstance, embedOrigins: readonly string[], offersSignIn: boolean): void {
  app.get('/', async (_request, reply) => reply.redirect('portal'))
  servePage(app, {
    path: '/portal',
    page: pageFile('portal.html', offersSignIn),
    files: ['portal.js', 'style.css', 'icon.svg'].map((name) => pageFile(name)),
    embedOrigins,
  })
}

type MemberSignIn = SignInProvider<SelfServiceConfig>

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
function signInMembers(app: FastifyInstance, options: MemberSignInOptions): void {
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
