import type { FastifyInstance } from 'fastify'
import { withoutKeys } from '../../domain/api-key.ts'
import { sendError } from '../../http/answer-error.ts'
import { admissionOf } from '../admission/http-hooks.ts'
import type { ShownModel } from '../model-list.ts'
import { matchesModel } from '../routing/upstream-table.ts'
import { modelShapeOf } from './model-shapes.ts'

export interface ModelsOptions {
  readonly basePath: string
  /** The models that are known now. Waits only for the first list, and for a bounded time. */
  readonly listModels: () => readonly ShownModel[] | Promise<readonly ShownModel[]>
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

async function allowedModels(
  options: ModelsOptions,
  patterns: readonly string[] | null,
): Promise<readonly ShownModel[]> {
  const known = await options.listModels()
  return patterns === null ? known : known.filter(({ id }) => matchesModel(patterns, id))
}
