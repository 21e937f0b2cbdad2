import type { TierPrice } from './tier-price.ts'

/** Tiers that are known to be near the list price, and that no list has a figure for. */
export const UNLISTED_TIERS: readonly TierPrice[] = [
  // A retry after a refusal, billed as if its model had served the conversation all along: less, and no answer says how much.
  {
    providers: ['anthropic', 'vertex', 'bedrock', 'azure-ai'],
    models: /claude-/,
    tier: 'fallback_credit',
    factor: '1',
    isPartly: true,
    source: 'https://platform.claude.com/docs/en/api/beta/messages',
    seen: '2026-11-25',
  },
  // Dearer, by what AWS's page of prices says alone.
  {
    providers: ['bedrock'],
    models: /./,
    tier: 'latency_optimized',
    factor: '1',
    isPartly: true,
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/latency-optimized-inference.html',
    seen: '2026-11-25',
  },
]
