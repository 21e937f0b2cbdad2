import type { IncomingHttpHeaders } from 'node:http'
import { apiFamilyOf } from '../../providers/paths/family.ts'
import { type ShownModel, sourceOf } from '../model-list.ts'

/** How models are shown to the client libraries of one API. */
export interface ModelShape {
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
