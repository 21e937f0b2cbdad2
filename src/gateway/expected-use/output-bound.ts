import type { Dialect, OutputBound } from '../../providers/dialect.ts'
import { type AskedSize, largerBound } from '../bodies/asked-size.ts'

/** No request is served that asks for more. */
export const MAX_TOKENS = 10_000_000

/**
 * The most that one answer may have, as the request says it where servers of `dialect` look; below 0: it does not. Another
 * provider's name for it sets none here: most servers pass over what they do not know. A name in other letters
 * (`Max_Tokens`) raises a bound and sets none: only servers written in Go know it, and these take the last of both.
 */
export function outputBound(dialect: Dialect, asked: AskedSize): number {
  const bound = boundIn(dialect.outputBound, asked)
  return bound < 0 ? bound : Math.min(largerBound(bound, asked.otherMaxTokens), MAX_TOKENS)
}

function boundIn(
  place: OutputBound | undefined,
  { maxTokens, maxOutputTokens, settingsMaxTokens }: AskedSize,
): number {
  switch (place) {
    case undefined:
      return maxTokens
    case 'max_output_tokens':
      return maxOutputTokens
    case 'settings':
      return settingsMaxTokens
    case 'settings_or_root':
      return Math.max(maxTokens, settingsMaxTokens)
    case 'root_raised_by_settings':
      return maxTokens < 0 ? maxTokens : largerBound(maxTokens, settingsMaxTokens)
    case 'unknown':
      return -1
  }
}
