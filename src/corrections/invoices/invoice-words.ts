import type { InvoiceClass } from './invoice-row.ts'

/** What invoices call models, tiers and classes: names of meters and usage types, in English. */

const CLASSES: readonly (readonly [InvoiceClass | null, RegExp])[] = [
  // Of a cache too, which Google names by the class of what it keeps: it is billed by the hour.
  [null, /\bstorage\b/i],
  ['cache_write', /cach(?:e|ed|ing)[ _-]?(?:write|creation)/i],
  ['cache_read', /cache[ _-]?read|cached|cachd|cchd|caching/i],
  ['search', /(?<!re)search|grounding/i],
  ['output', /outp|\bout\b|\bopt\b|response|completion tokens/i],
  ['input', /inp(?:ut|t)?\b|input|\bin\b|prompt/i],
]

/** `null`: the words name none. */
export function classIn(words: string): InvoiceClass | null {
  return CLASSES.find(([, form]) => form.test(words))?.[0] ?? null
}

const TIERS: readonly (readonly [string, RegExp])[] = [
  ['batch', /batch/i],
  ['flex', /\bflex|-flex/i],
  ['priority', /priority|\bpp\b/i],
  ['provisioned', /provisioned|\bptu\b|reserved/i],
]

/** The tiers that invoices keep apart; what else stands in a service tier of ours is a place. */
export const TIER_WORDS: readonly string[] = TIERS.map(([tier]) => tier)

/** `null`: the words name none. */
export function tierIn(words: string): string | null {
  return TIERS.find(([, form]) => form.test(words))?.[0] ?? null
}

const SERVES_MODELS =
  /bedrock|openai|anthropic|claude|foundry|cognitive services|azure ai|vertex ai|gemini|generative language|agent platform/i

export function servesModels(words: string): boolean {
  return SERVES_MODELS.test(words)
}

/** Makers as Bedrock writes them before the names of their models. */
const MAKERS =
  'anthropic|amazon|meta|mistral|cohere|ai21|deepseek|openai|qwen|google|nvidia|xai|zai|moonshot|minimax|writer'
const OF_BEDROCK = new RegExp(`\\b(?:${MAKERS})\\.`)
const BEFORE_NAME = new RegExp(`^(?:[a-z]{2,6}\\.)?(?:${MAKERS})\\.`)

/**
 * A model's name in parts that differ between makers, clouds and meters in nothing but what stands between them. AWS
 * writes `Claude4.6Opus` and leaves `instruct` out; Azure writes `Azure OpenAI GPT5 5.4 inp`, `Deepseek Models V4`.
 */
export function partsOfName(name: string): readonly string[] {
  const written = name.toLowerCase()
  const plain = (OF_BEDROCK.test(written) ? written.replace('-instruct', '') : written)
    .replace(/claude[ -]?([0-9]+(?:[.-][0-9]+)?)[ -]?(opus|sonnet|haiku)/, 'claude-$2-$1')
    .replace(/\bgpt-?5 (?=5\.[0-9])/, 'gpt ')
    .replace(/ models\b/, '')
    .replace(BEFORE_NAME, '')
    .replace(/-v?[0-9]+:[0-9]+$|@[0-9a-z-]+$/, '')
    .replace(/([0-9])\.0(?![0-9])/g, '$1')
    .replace(/[-@]?20[0-9]{2}-?[01][0-9]-?[0-3][0-9]/g, '')
  return plain.match(/[a-z]+|[0-9]+/g) ?? []
}

/** Behind a model's name these make another model of it. */
const VARIANTS =
  /^(?:mini|nano|micro|lite|flash|pro|max|ultra|turbo|codex|audio|realtime|transcribe|tts|image|search|preview|haiku|sonnet|opus|o|k|b|instruct|vision|large|small|medium|embedding)$/

/** Which of these models an invoice speaks of: one that it names, else the one with most parts. `null`: none of them. */
export function modelIn(service: string, models: readonly string[]): string | null {
  // Capitals part words in some meters, and stand within names in others: `NovaLite`, `DeepSeek`.
  const parts = [service, service.replace(/([a-z])(?=[A-Z])/g, '$1 ')].map(partsOfName)
  const written = service.toLowerCase()
  const found = models
    .map((model) => ({ model, own: partsOfName(model) }))
    .filter(({ own }) => own.length > 0 && parts.some((some) => begins(some, own)))
    .map(({ model, own }) => ({
      ...{ model, parts: own.length },
      named: written.includes(model.toLowerCase()) ? model.length : 0,
    }))
    .toSorted(
      (one, other) =>
        other.named - one.named || other.parts - one.parts || (one.model < other.model ? -1 : 1),
    )
  return found[0]?.model ?? null
}

function begins(parts: readonly string[], own: readonly string[]): boolean {
  return parts.some((_, start) => {
    if (!own.every((part, index) => parts[start + index] === part)) return false
    const next = parts[start + own.length] ?? ''
    // Four digits are a month and a day, as Azure writes versions.
    return !VARIANTS.test(next) && !/^[0-9]{1,3}$/.test(next)
  })
}
