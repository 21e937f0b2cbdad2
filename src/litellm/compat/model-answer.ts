import { createHash } from 'node:crypto'
import type { Provider } from '../../providers/registry.ts'
import { liteLlmNameOf } from '../config/find-upstream.ts'
import type { CompatAnswer } from './asking-key.ts'

/** A place that calls of a model may go to. */
export interface ModelPlace {
  readonly provider: Provider
  /** What the model is called there. */
  readonly model: string
  /** USD a token, of a usual call by this client; `null`: it has no price. */
  readonly inputUsd: number | null
  readonly outputUsd: number | null
  readonly cacheReadUsd: number | null
}

/** A model that the asking key may use, and where its calls may go: the first place first. */
export interface PlacedModel {
  readonly id: string
  readonly places: readonly ModelPlace[]
}

/** What names a model in `x-litellm-model-id` and `model_info.id`: the same for the same name at every gateway. */
export function modelIdOf(name: string): string {
  return createHash('sha256').update(`tallygate model ${name}`).digest('hex')
}

/** The answer of `/model/info`: one entry for each place. @param asked The id of one model; `null`: all. */
export function answerModels(models: readonly PlacedModel[], asked: string | null): CompatAnswer {
  const found = asked === null ? models : models.filter(({ id }) => modelIdOf(id) === asked)
  if (asked !== null && found.length === 0)
    return {
      kind: 'invalid',
      param: 'litellm_model_id',
      message: 'There is no model of this id, or it is not for this key.',
    }
  const data = found.flatMap(({ id, places }) =>
    places.map((place) => ({
      model_name: id,
      litellm_params: {
        model: `${liteLlmNameOf(place.provider)}/${place.model}`,
        custom_llm_provider: liteLlmNameOf(place.provider),
      },
      model_info: {
        id: modelIdOf(id),
        db_model: false,
        key: place.model,
        litellm_provider: liteLlmNameOf(place.provider),
        mode: null,
        max_tokens: null,
        max_input_tokens: null,
        max_output_tokens: null,
        input_cost_per_token: place.inputUsd,
        output_cost_per_token: place.outputUsd,
        cache_read_input_token_cost: place.cacheReadUsd,
      },
    })),
  )
  return { kind: 'answer', document: { data } }
}

/** The answer of `/model_group/info`. @param asked One name; `null`: all. What is not known of a model is left out. */
export function answerGroups(models: readonly PlacedModel[], asked: string | null): CompatAnswer {
  const data = models
    .filter(({ id }) => asked === null || id === asked)
    .map(({ id, places }) => ({
      model_group: id,
      providers: [...new Set(places.map(({ provider }) => liteLlmNameOf(provider)))],
      max_input_tokens: null,
      max_output_tokens: null,
      // As LiteLLM does: of several places, the dearest.
      input_cost_per_token: dearest(places.map(({ inputUsd }) => inputUsd)),
      output_cost_per_token: dearest(places.map(({ outputUsd }) => outputUsd)),
      mode: null,
      tpm: null,
      rpm: null,
    }))
  return { kind: 'answer', document: { data } }
}

/** `null`: of one of them nothing is known, or there is none. */
function dearest(prices: readonly (number | null)[]): number | null {
  const known = prices.filter((price) => price !== null)
  return known.length === 0 || known.length < prices.length ? null : Math.max(...known)
}
