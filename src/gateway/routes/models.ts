import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { withoutKeys } from '../../domain/api-key.ts'
import { sendError } from '../../http/answer-error.ts'
import { apiFamilyOf } from '../../providers/paths/family.ts'
import { admissionOf } from '../admission/http-hooks.ts'
import { matchesModel } from '../routing/upstream-table.ts'
import { type ShownModel, sourceOf } from '../upstream-models.ts'

export interface ModelsOptions {
  readonly basePath: string
  /** The models that are known now. Waits only for the first list, and for a bounded time. */
  readonly listModels: () => readonly ShownModel[] | Promise<readonly ShownModel[]>
}

/** How models are shown to the client libraries of one API. */
interface ModelShape {
  readonly list: (models: readonly ShownModel[]) => object
  readonly one: (model: ShownModel) => object
}

const OPENAI: ModelShape = {
  list: (data) => ({ object: 'list', data }),
  one: (model) => model,
}

const ANTHROPIC: ModelShape = {
  list: (models) => ({
    data: models.map(ANTHROPIC.one),
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  }),
  one(model) {
    const { id, created = 0 } = model
    const source = sourceOf(model)
    return {
      type: 'model',
      id,
      display_name: id,
      // 1970: unknown, as Anthropic writes it.
      created_at: new Date(created * 1_000).toISOString(),
      ...(source.type === 'model' ? source : {}),
    }
  },
}

const GOOGLE: ModelShape = {
  list: (models) => ({ models: models.map(GOOGLE.one) }),
  one(model) {
    const name = `models/${model.id}`
    const source = sourceOf(model)
    return { name, displayName: model.id, ...(source.name === name ? source : {}) }
  },
}

/** The shape by what the client sends; `path` of the list is as Google has it, or as the others do. */
export function modelShapeOf(
  path: '/v1/models' | '/v1beta/models',
  headers: IncomingHttpHeaders,
): ModelShape {
  const family = apiFamilyOf(path, headers)
  return family === 'google' ? GOOGLE : family === 'anthropic' ? ANTHROPIC : OPENAI
}

/**
 * `GET /v1/models` and `GET /v1/models/{id}`, and the same as Google's libraries ask: answered from memory, without a
 * call upstream.
 */
export function models(app: FastifyInstance, options: ModelsOptions): void {
  for (const path of ['/v1/models', '/v1beta/models'] as const) {
    app.get(options.basePath + path, async (request, reply) => {
      const found = await allowedModels(options, admissionOf(request).caller.models)
      return reply.send(modelShapeOf(path, request.headers).list(found))
    })

    // Ids may contain slashes (`meta-llama/Llama-3`), so the id is the rest of the path.
    app.get<{ Params: { '*': string } }>(`${options.basePath}${path}/*`, async (request, reply) => {
      const id = request.params['*']
      const found = (await allowedModels(options, admissionOf(request).caller.models)).find(
        (model) => model.id === id,
      )
      if (found === undefined) {
        const message = `The model '${withoutKeys(id).slice(0, 128)}' does not exist or is not for this key.`
        sendError(reply, 'not_found', { message }, admissionOf(request).errorShape)
        return reply
      }
      return reply.send(modelShapeOf(path, request.headers).one(found))
    })
  }
}

/** Those of the list that a key may use: its names or `prefix*`; `null`: all. */
export async function allowedModels(
  options: Pick<ModelsOptions, 'listModels'>,
  patterns: readonly string[] | null,
): Promise<readonly ShownModel[]> {
  const known = await options.listModels()
  return patterns === null ? known : known.filter(({ id }) => matchesModel(patterns, id))
}
