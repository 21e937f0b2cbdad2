import type { Area } from '../mutant.ts'

export const reading: Area = {
  name: 'reading',
  tests: ['test/providers'],
  mutants: [
    {
      find: 'outputTokens: firstCount(parseCount(usage.completion_tokens), parseCount(usage.output_tokens)),',
      replace: 'outputTokens: firstCount(parseCount(usage.prompt_tokens), parseCount(usage.output_tokens)),',
      says: 'a chat answer is as long as its prompt',
    },
    {
      find: '      parseCount(usage.prompt_cache_hit_tokens),\n',
      replace: '',
      says: "DeepSeek's cached tokens are billed in full",
    },
    {
      find: 'inputTokens: addCounts(prompt, toolUse),',
      replace: 'inputTokens: prompt,',
      says: "the prompts of Gemini's tools are free",
    },
    {
      find: 'firstCount(addCounts(answer, thoughts), restOfTotal',
      replace: 'firstCount(answer, restOfTotal',
      says: "Gemini's thoughts are free",
    },
    {
      find: 'addCounts(fresh, cacheRead, cacheWrite)',
      replace: 'addCounts(fresh, cacheRead)',
      says: "prompts of Anthropic's lack what was written to the cache",
    },
    {
      find: 'parseCount(split?.ephemeral_1h_input_tokens)',
      replace: 'parseCount(split?.ephemeral_5m_input_tokens)',
      says: 'writes to the cache for an hour cost what those for five minutes do',
    },
    {
      find: 'number < 0 || number > MAX_COUNT',
      replace: 'number > MAX_COUNT',
      says: 'a negative count takes off what others cost',
    },
    {
      find: 'part.isBeside ? NO_USAGE : usage',
      replace: 'usage',
      says: "a session's tokens are those of two models",
    },
    {
      find: "sum('audioInputTokens', 'imageInputTokens', 'videoInputTokens'),",
      replace: '0,',
      says: 'one response with more sound than tokens leaves its whole session without a price',
    },
    {
      find: 'more.filter((part) => part.isBeside !== true)',
      replace: 'more',
      says: "estimates of a session's transcriptions are tokens of the model that answers",
    },
    {
      find: " && !types.has('fallback_message')",
      replace: '',
      says: 'a message that a fallback served is billed with the refusal, too',
    },
    {
      find: '(ended && this.#hasEndUsage && !this.#failed)',
      replace: '(ended && this.#hasEndUsage)',
      says: 'a message that failed counts as it stood before its last words',
    },
  ],
}
