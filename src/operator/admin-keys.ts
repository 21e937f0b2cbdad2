import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  type ListedKey,
  renderKey,
  renderNewKey,
  type ShownOnceKey,
} from '../domain/documents/key-document.ts'
import { GatewayError } from '../http/errors.ts'
import type { ListedPage, PageOrder } from '../keys/listed-page.ts'
import { sendPage } from './admin-answers.ts'
import { anyName, duration, listPart, modelList, name, parseInput } from './admin-input.ts'
import { tokenHolder } from './admin-token.ts'

/** The properties of a new key. */
export interface NewKeyRequest {
  /** The client's name. */
  readonly client: string
  readonly name: string
  /** Names or `prefix*` patterns; `null`: every model. */
  readonly models: readonly string[] | null
  /** From now; `null`: never expires. */
  readonly expiresInSeconds: number | null
}

export type KeyRotation =
  | { readonly kind: 'rotated'; readonly key: ShownOnceKey }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'inactive' }

export interface AdminKeysOptions {
  /** Of one client by its name, or of all. */
  readonly selectKeys: (
    client: string | null,
    part: PageOrder,
  ) => Promise<ListedPage<ListedKey> | 'no client' | 'no cursor'>
  /** `null`: there is no such client. */
  readonly createKey: (order: NewKeyRequest) => Promise<ShownOnceKey | null>
  /** `null`: there is no such key. */
  readonly revokeKey: (id: string) => Promise<ListedKey | null>
  readonly rotateKey: (id: string, overlapSeconds: number, who: string) => Promise<KeyRotation>
}

const DAY_SECONDS = 86_400

/** The body that creates a key. */
export const newKeyBody = z.strictObject({
  client: anyName,
  name: name.default('default'),
  expires_in: duration.refine((seconds) => seconds > 0, 'must be longer than nothing').optional(),
  models: modelList.optional(),
})

/** How a key is rotated. */
export const rotationBody = z.strictObject({ overlap: duration.optional() })

const listQuery = z.strictObject({ client: anyName.optional(), ...listPart })

/** `/keys`: the keys of clients. A key's secret is only in the answer that creates it. */
export function adminKeys(app: FastifyInstance, options: AdminKeysOptions): void {
  app.get('/keys', async (request, reply) => {
    const { client = null, limit = null, cursor = null } = parseInput(listQuery, request.query)
    const keys = await options.selectKeys(client, { limit, cursor })
    if (keys === 'no client') throw noClient(client)
    return sendPage(reply, keys === 'no cursor' ? null : keys).map(renderKey)
  })

  app.post('/keys', async (request, reply) => {
    const body = parseInput(newKeyBody, request.body)
    const created = await options.createKey({
      client: body.client,
      name: body.name,
      models: body.models === undefined ? null : [...new Set(body.models)],
      expiresInSeconds: body.expires_in ?? null,
    })
    if (created === null) throw noClient(body.client)
    request.log.info({ event: 'admin.key_created', key: created.id }, 'key created')
    return reply.code(201).send(renderNewKey(created))
  })

  app.post<{ Params: { id: string } }>('/keys/:id/revoke', async (request) => {
    const { id } = request.params
    const revoked = await options.revokeKey(id)
    if (revoked === null) throw noKey(id)
    request.log.info({ event: 'admin.key_revoked', key: id }, 'key revoked')
    return renderKey(revoked)
  })

  app.post<{ Params: { id: string } }>('/keys/:id/rotate', async (request, reply) => {
    const { id } = request.params
    const { overlap = DAY_SECONDS } = parseInput(rotationBody, request.body)
    const rotation = await options.rotateKey(id, overlap, tokenHolder(request))
    if (rotation.kind === 'unknown') throw noKey(id)
    if (rotation.kind === 'inactive') {
      throw new GatewayError('invalid_request', {
        param: 'id',
        message: `Key ${id} is revoked or expired: make a new one.`,
      })
    }
    request.log.info({ event: 'admin.key_rotated', key: id, newKey: rotation.key.id }, 'key rotated')
    return reply.code(201).send(renderNewKey(rotation.key))
  })
}

function noClient(client: string | null): GatewayError {
  return new GatewayError('not_found', { param: 'client', message: `There is no client named ${client}.` })
}

function noKey(id: string): GatewayError {
  return new GatewayError('not_found', { message: `There is no key ${id}.` })
}
