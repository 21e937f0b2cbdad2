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

/**
 * Names whose price is unknown, as the sources contradict each other and the provider's page settles nothing.
 */
export const WITHOUT_PRICE: readonly {
  readonly providerId: string
  /** In lower case. */
  readonly names: RegExp
  readonly why: string
  readonly source: string
  readonly seen: string
}[] = [
  {
    providerId: 'aws',
    // Since Claude 4.5 a call to one region costs 10 % more than a global one. Older models have one price.
    names:
      /^anthropic\.claude-(?:(?:opus|sonnet|haiku)-4-(?:[5-9]|[1-9][0-9])(?![0-9])|(?:opus|sonnet|haiku|fable|mythos)-[5-9])/,
    why: 'without a region in the name: 10 % above the global price by one source, the global price by two',
    source: 'https://aws.amazon.com/bedrock/pricing',
    seen: '2026-11-22',
  },
]

/**
 * Why a name has no price at a provider of the catalog, whichever source lists it; `null`: it may have one.
 */
export function findWithoutPrice(
  providerId: string,
  name: string,
): Pick<(typeof WITHOUT_PRICE)[number], 'why' | 'source' | 'seen'> | null {
  const lower = name.toLowerCase()
  return WITHOUT_PRICE.find((entry) => entry.providerId === providerId && entry.names.test(lower)) ?? null
}

const REFUSED: ReadonlySet<string> = new Set(
  MISNAMED.map(({ providerId, name, model }) => `${providerId}\n${name}\n${model}`),
)

/** `name` in lower case. */
export function isMisnamed(providerId: string, name: string, model: string): boolean {
  return REFUSED.has(`${providerId}\n${name}\n${model}`)
}
