/** Why our price differs from that of a list that is independent of the bundle: each was looked at by hand. */
const REASONS: readonly (readonly [what: RegExp, why: string])[] = [
  [
    /^deepseek\/deepseek-(?:flash|v4|pro|\S*-vision-exp)/,
    'asked at a peak hour; the list has the other price',
  ],
  [
    /^gemini\/\S*-(?:image|image-preview|banana-[\d.]+) +output/,
    'the list has the price of pictures; ours has text apart',
  ],
  [
    /^gemini\/gemini-omni\S* +output/,
    'the list has the price of films; ours is that of text, and such calls are partly unpriced',
  ],
  [
    /^gemini\/gemini-(?:1\.5|2\.5)\S* +cacheRead/,
    'a preview or a model that is gone; the list has the quarter of 2025, ours a tenth, or none',
  ],
  [/^mistral\/mistral-embed +cacheRead/, 'it has no cache'],
  [/^mistral\/mistral-large-4/, 'the list is of 2026-10-26; since 2026-10-29 it costs half'],
  [/^moonshotai\/kimi-k2-turbo/, 'the list has the price of before November 2025'],
  [/^perplexity\/sonar /, 'two lists of the bundle say the other'],
  [/^deepseek\/deepseek-v3\.2 /, 'a rounded figure'],
  [/^xai\/grok-4\.20/, 'the list has the price of its release; since 2026-04-30 it costs less'],
  [
    /^azure-openai\/gpt-5\.6-/,
    "Azure's meters are of 2026-08-11; its own list has OpenAI's cut of 2026-07-30 since, by LiteLLM",
  ],
  [/^azure-openai\/gpt-4o-mini\S* batch/, 'Azure rounds up at the third digit'],
]

/** @returns `null`: not looked at. */
export function reasonOf(line: string): string | null {
  return REASONS.find(([what]) => what.test(line))?.[1] ?? null
}
