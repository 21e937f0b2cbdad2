import { countsBy, TOKEN_CLASSES, type TokenClass, type TokenUsage } from '../../call/usage.ts'
import type { TokenRatio } from './token-ratio.ts'

const GENERATED: ReadonlySet<TokenClass> = new Set([
  'outputTokens',
  'reasoningTokens',
  'audioOutputTokens',
  'imageOutputTokens',
])
const WHOLES: ReadonlySet<TokenClass> = new Set(['inputTokens', 'outputTokens'])
/** Of these each maker has rules of its own. */
const MEDIA = [
  'audioInputTokens',
  'imageInputTokens',
  'videoInputTokens',
  'audioOutputTokens',
  'imageOutputTokens',
] as const satisfies readonly TokenClass[]

export function hasMedia(usage: TokenUsage): boolean {
  return MEDIA.some((name) => (usage[name] ?? 0) > 0)
}

/** The same text in other tokens. Parts are rounded down and wholes up, so that parts still fit into their wholes. */
export function scaled(usage: TokenUsage, { prompt, generated }: TokenRatio): TokenUsage {
  return countsBy(TOKEN_CLASSES, (name) => {
    const count = usage[name]
    if (count === null) return null
    const factor = GENERATED.has(name) ? generated : prompt
    return WHOLES.has(name) ? Math.ceil(count * factor) : Math.floor(count * factor)
  })
}

/**
 * The same prompt with a share of it read from the cache.
 *
 * @param writesRest Whether the rest is written to the cache, for five minutes; else none of it is.
 */
export function withCachedShare(usage: TokenUsage, share: number, writesRest: boolean): TokenUsage {
  const input = usage.inputTokens ?? 0
  if (input === 0) return usage
  const read = Math.floor(input * share)
  const written = writesRest ? input - read : 0
  return {
    ...usage,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    cacheWrite5mTokens: written,
    cacheWrite1hTokens: 0,
    cacheWrite12hTokens: 0,
  }
}
