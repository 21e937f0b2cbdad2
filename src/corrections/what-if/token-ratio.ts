import { familyNameOf, familyOfName } from '../../providers/model-family.ts'

/**
 * How far texts are from the ratio of their family: what was measured against four tokenizers, over English, Chinese,
 * Japanese and code ("By script" in docs/accuracy.md: estimate over truth from 0.87 to 1.16).
 */
const SPREAD = { least: 1 / 1.16, most: 1 / 0.87 }

/** The factors of a text's tokens, if another model had read and written it. */
export interface TokenRatio {
  readonly prompt: number
  readonly generated: number
}

const SAME: TokenRatio = { prompt: 1, generated: 1 }
const OPENAI = /^(?:openai(?:-since-5)?|gpt-oss)$/

/**
 * The least and the most that it can be taken to be; one where both models count alike.
 *
 * Both are compared with OpenAI's encoding, so each that is not OpenAI's adds what texts differ by.
 */
export function tokenRatios(from: string, to: string): readonly TokenRatio[] {
  const names = [familyNameOf(from), familyNameOf(to)]
  const others = names.filter((name) => !OPENAI.test(name)).length
  if (others === 0 || names[0] === names[1]) return [SAME]
  const [before, after] = [familyOfName(from), familyOfName(to)]
  const prompt = after.tokensPerOpenAiToken / before.tokensPerOpenAiToken
  const generated = after.tokensPerGeneratedToken / before.tokensPerGeneratedToken
  return [SPREAD.least ** others, SPREAD.most ** others].map((factor) => ({
    prompt: prompt * factor,
    generated: generated * factor,
  }))
}
