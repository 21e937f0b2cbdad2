import type { Layout } from './grounds.ts'

export interface Difference {
  /** Of the rows' names. */
  readonly rows: RegExp
  readonly step: string
  readonly layouts: readonly Layout[]
  readonly reason: string
}

const BOTH = ['prefix', 'root'] as const

/** Where a client has something else through the gateway, and why. What is in no line has to be the same. */
export const DIFFERENCES: readonly Difference[] = [
  {
    rows: /google|genai|Google/i,
    step: 'wrong_key',
    layouts: BOTH,
    reason: 'Google says 400 to a wrong key, the gateway 401 as everywhere.',
  },
  {
    rows: /boto3|AWS/,
    step: 'wrong_key',
    layouts: BOTH,
    reason: 'AWS says 403 to a wrong key, the gateway 401 as everywhere.',
  },
  {
    rows: /boto3|AWS/,
    step: 'spent',
    layouts: BOTH,
    reason: 'Libraries for AWS try a 429 again, so a spent budget is 400 ServiceQuotaExceededException.',
  },
  {
    rows: /boto3|AWS/,
    step: 'no_model',
    layouts: ['root'],
    reason: 'No upstream has the model, so the gateway says 404; AWS says 400.',
  },
  {
    rows: /mistralai/,
    step: 'no_model',
    layouts: ['root'],
    reason: 'No upstream has the model, so the gateway says 404; Mistral says 400.',
  },
  {
    rows: /cohere/,
    step: 'models',
    layouts: ['root'],
    reason:
      'GET /v1/models has OpenAI’s fields for all but the libraries of Anthropic and Google, and Cohere’s reads others.',
  },
  {
    rows: /pydantic-ai: OpenAI/,
    step: 'spent',
    layouts: BOTH,
    reason: 'It takes only insufficient_quota for a spent quota; the gateway’s code is budget_exceeded.',
  },
]
