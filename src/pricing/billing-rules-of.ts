import type { BillingRules } from './billing-rules.ts'
import { USUAL_BILLING_RULES } from './catalog/catalog-price-set.ts'

/** Whose audio and image tokens never cost what text does, so that a missing price of theirs is a gap. */
const MEDIA_APART: ReadonlySet<string> = new Set(['openai', 'azure', 'cohere'])

/**
 * What the catalog's data has no field for. Groq bills transcriptions for at least ten seconds
 * (https://groq.com/pricing; the package has the same rule in its code). Perplexity's deep research reports reasoning
 * tokens on top of `completion_tokens` (https://docs.perplexity.ai/getting-started/pricing). Vercel's gateway bills
 * reasoning of OpenAI's models on top of the output that has it already (11 of 11 recorded answers that name their cost).
 */
export function billingRulesOf(seller: string, providerId: string, modelId: string): BillingRules {
  const isOfOpenAi = providerId === 'openai' || (providerId === 'vercel' && modelId.startsWith('openai/'))
  if (seller === 'vercel-gateway' && isOfOpenAi) {
    return { ...USUAL_BILLING_RULES, mediaIsApart: true, reasoningIsBeside: true }
  }
  if (providerId === 'groq' && modelId.startsWith('whisper-large-v3')) {
    return { ...USUAL_BILLING_RULES, minimumAudioMs: 10_000 }
  }
  if (providerId === 'perplexity') return { ...USUAL_BILLING_RULES, reasoningIsBeside: true }
  if (MEDIA_APART.has(providerId)) return { ...USUAL_BILLING_RULES, mediaIsApart: true }
  if (providerId === 'mistral') return { ...USUAL_BILLING_RULES, secondsAreBeside: true }
  return USUAL_BILLING_RULES
}
