import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type ListedClient, renderClient } from '../domain/documents/client-document.ts'
import { GatewayError } from '../http/errors.ts'
import type { ListedPage, PageOrder } from '../keys/listed-page.ts'
import { sendPage } from './admin-answers.ts'
import { listPart, name, parseInput } from './admin-input.ts'

export interface AdminClientsOptions {
  /** `null`: there is no client with the id of the cursor. */
  readonly selectClients: (part: PageOrder) => Promise<ListedPage<ListedClient> | null>
  /** `null`: the name exists. */
  readonly createClient: (name: string) => Promise<ListedClient | null>
  /** `null`: there is no client with this id. */
  readonly setClientDisabled: (id: string, disabled: boolean) => Promise<ListedClient | null>
}

/** The body that creates a client. */
export const newClientBody = z.strictObject({ name })

const listQuery = z.strictObject(listPart)

/** `/clients`: the accounts that usage is summed up for. */
export function adminClients(app: FastifyInstance, options: AdminClientsOptions): void {
  app.get('/clients', async (request, reply) => {
    const { limit = null, cursor = null } = parseInput(listQuery, request.query)
    return sendPage(reply, await options.selectClients({ limit, cursor })).map(renderClient)
  })

  app.post('/clients', async (request, reply) => {
    const body = parseInput(newClientBody, request.body)
    const created = await options.createClient(body.name)
    if (created === null) {
      throw new GatewayError('invalid_request', {
        param: 'name',
        message: `There is already a client named ${body.name}.`,
      })
    }
    request.log.info({ event: 'admin.client_created', client: created.id }, 'client created')
    return reply.code(201).send(renderClient(created))
  })

  for (const [verb, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    app.post<{ Params: { id: string } }>(`/clients/:id/${verb}`, async (request) => {
      const { id } = request.params
      const changed = await options.setClientDisabled(id, disabled)
      if (changed === null) throw new GatewayError('not_found', { message: `There is no client ${id}.` })
      request.log.info({ event: 'admin.client_changed', client: id }, `client ${verb}d`)
      return renderClient(changed)
    })
  }
}
