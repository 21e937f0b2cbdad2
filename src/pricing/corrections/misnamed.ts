/** A name that the catalog gives to a model which it is not, so that the model's price is not its own. */
interface Misnamed {
  readonly providerId: string
  readonly name: string
  /** The catalog's model of which it is none. */
  readonly model: string
  /** Where that can be seen. */
  readonly source: string
  readonly seen: string
}

const GROQ = 'https://groq.com/pricing'
const MISTRAL = 'https://mistral.ai/pricing'
const OPENAI = 'https://developers.openai.com/api/docs/pricing'

/** Without these such calls would be at another model's price; unpriced is the lesser harm. */
export const MISNAMED: readonly Misnamed[] = [
  {
    providerId: 'groq',
    name: 'openai/gpt-oss-safeguard-20b',
    model: 'openai/gpt-oss-120b',
    source: GROQ,
    seen: '2026-11-22',
  },
  // These search the web with each request, for a fee that the other has not.
  {
    providerId: 'openai',
    name: 'gpt-4o-mini-search-preview',
    model: 'gpt-4o-mini',
    source: OPENAI,
    seen: '2026-11-22',
  },
  {
    providerId: 'openai',
    name: 'gpt-4o-mini-search-preview-2025-03-11',
    model: 'gpt-4o-mini',
    source: OPENAI,
    seen: '2026-11-22',
  },
  // It now names a newer model, Large 3.
  {
    providerId: 'mistral',
    name: 'mistral-large-latest',
    model: 'mistral-large',
    source: MISTRAL,
    seen: '2026-11-22',
  },
]

const REFUSED: ReadonlySet<string> = new Set(
  MISNAMED.map(({ providerId, name, model }) => `${providerId}\n${name}\n${model}`),
)

/** `name` in lower case. */
export function isMisnamed(providerId: string, name: string, model: string): boolean {
  return REFUSED.has(`${providerId}\n${name}\n${model}`)
}
