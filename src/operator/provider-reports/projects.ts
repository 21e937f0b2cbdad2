import type { FastifyInstance } from 'fastify'
import { type Client, selectClientPage } from '../../keys/clients.ts'
import type { ListedPage } from '../../keys/listed-page.ts'
import { unknownField } from '../../operations/read-input.ts'
import { invalid } from '../../operations/refuse.ts'
import type { Reports } from '../../store/replica/reports.ts'
import { stored } from '../admin-answers.ts'

/** How a provider lists what our clients are to it. */
interface ListNames {
  /** The parameter with the id that the list goes on behind. */
  readonly after: string
  readonly mostRows: number
}

const DEFAULT_ROWS = 20
/** None of ours is archived: those that are disabled have figures, too. */
const IGNORED = 'include_archived'

/** OpenAI's projects and Anthropic's workspaces, by which tools that read reports find the names of ids in them. */
export function providerProjects(
  app: FastifyInstance,
  { reports }: { readonly reports: Pick<Reports, 'read'> },
): void {
  const serve = (path: string, names: ListNames, render: (client: Client) => object) =>
    app.get(path, async (request) => {
      const { items, next } = await readClients(
        reports,
        request.query as Readonly<Record<string, unknown>>,
        names,
      )
      const [first, last] = [items[0]?.id ?? null, items.at(-1)?.id ?? null]
      return {
        object: 'list',
        data: items.map(render),
        first_id: first,
        last_id: last,
        has_more: next !== null,
      }
    })
  serve('/v1/organization/projects', { after: 'after', mostRows: 100 }, ({ id, name, createdAt }) => ({
    id,
    object: 'organization.project',
    name,
    created_at: Math.floor(createdAt.getTime() / 1_000),
    archived_at: null,
    status: 'active',
  }))
  serve(
    '/v1/organizations/workspaces',
    { after: 'after_id', mostRows: 1_000 },
    ({ id, name, createdAt }) => ({
      id,
      type: 'workspace',
      name,
      created_at: createdAt.toISOString(),
      archived_at: null,
    }),
  )
}

async function readClients(
  reports: Pick<Reports, 'read'>,
  query: Readonly<Record<string, unknown>>,
  { after, mostRows }: ListNames,
): Promise<ListedPage<Client>> {
  for (const name of Object.keys(query))
    if (!['limit', after, IGNORED].includes(name)) throw unknownField(name)
  const limit = Number(query.limit ?? DEFAULT_ROWS)
  if (!Number.isInteger(limit) || limit < 1 || limit > mostRows)
    throw invalid('limit', `must be one integer from 1 to ${mostRows}`)
  const { [after]: cursor = null } = query
  const page =
    cursor !== null && typeof cursor !== 'string'
      ? null
      : await stored(reports.read((pool) => selectClientPage(pool, { limit, cursor })))
  if (page === null) throw invalid(after, 'must be last_id of an answer to the same query')
  return page
}
