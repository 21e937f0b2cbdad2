import type { RunningLimits } from '../../limits/open-limits.ts'
import { type CompatAnswer, refuseOthers } from '../../litellm/compat/asking-key.ts'
import { answerClientAlone, answerKey, answerUser } from '../../litellm/compat/key-answer.ts'
import {
  answerGroups,
  answerModels,
  type ModelPlace,
  type PlacedModel,
} from '../../litellm/compat/model-answer.ts'
import { answerSpendLogs } from '../../litellm/compat/spend-logs.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { LiteLlmOptions } from './litellm.ts'
import { allowedModels, type ModelsOptions } from './models.ts'

export interface LiteLlmAnswersOptions extends Pick<ModelsOptions, 'listModels'> {
  readonly pool: Postgres
  /** Works a client's answer out in its turn, once its own calls are counted. Rejects when the store is away. */
  readonly inTurn: (
    clientId: string,
    work: () => Promise<CompatAnswer>,
  ) => ReturnType<LiteLlmOptions['answer']>
  readonly limits: Pick<RunningLimits, 'holding'>
  /** Where calls of a model go, and what they cost this client. */
  readonly placesOf: (model: string, clientName: string) => readonly ModelPlace[]
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

/** Finds the answers for programs of LiteLLM where this process has them: in Postgres, and in its configuration. */
export function answersForLiteLlm(options: LiteLlmAnswersOptions): LiteLlmOptions['answer'] {
  const { pool, inTurn, limits, placesOf, now } = options
  return async (path, asking, query) => {
    const { clientId, clientName, keyId, models } = asking.caller
    const placed = async (): Promise<readonly PlacedModel[]> =>
      (await allowedModels(options, models)).map(({ id }) => ({ id, places: placesOf(id, clientName) }))
    // From memory.
    if (path === '/model/info') return whole(answerModels(await placed(), query.get('litellm_model_id')))
    if (path === '/model_group/info') return whole(answerGroups(await placed(), query.get('model_group')))
    const refused = refuseOthers(query, asking)
    if (refused !== null) return whole(refused)
    return await inTurn(clientId, async () => {
      const nowMs = now()
      const request = { asking, limits: limits.holding(clientId, keyId), nowMs }
      switch (path) {
        case '/key/info':
          return { kind: 'answer', document: await answerKey(pool, request) } as const
        case '/user/info':
          return { kind: 'answer', document: await answerUser(pool, request) } as const
        case '/v2/user/info':
          return { kind: 'answer', document: await answerClientAlone(pool, request) } as const
        case '/spend/logs':
          return await answerSpendLogs(pool, asking, query, nowMs)
        default:
          return path satisfies never
      }
    })
  }
}

function whole(answer: Awaited<ReturnType<LiteLlmOptions['answer']>>['answer']) {
  return { answer, wholeUntilMs: null }
}
