import type { Provider } from '../../src/providers/registry.ts'

/** Where a price was read. */
export type SourceName = 'genai-prices' | 'models.dev' | 'litellm'

/** What is priced apart: classes of tokens and other things that are billed by the piece. */
export const CLASSES = [
  'input',
  'output',
  'cacheRead',
  'cacheWrite',
  'cacheWrite1h',
  'cacheWrite12h',
  'audioInput',
  'audioOutput',
  'cacheReadAudio',
  'imageInput',
  'imageOutput',
  'videoInput',
  'reasoning',
  'request',
  'webSearch',
  'searchUnit',
  'image',
  'audioSecond',
  'videoSecond',
  'character',
  'page',
] as const

export type PriceClass = (typeof CLASSES)[number]

/** What kind of endpoint serves a model. */
export type Kind =
  | 'chat'
  | 'responses'
  | 'completion'
  | 'embedding'
  | 'image'
  | 'transcription'
  | 'speech'
  | 'rerank'
  | 'ocr'
  | 'video'

/** US dollars for one of a class, in calls of more than `above` prompt tokens at a service tier; '': standard. */
export interface Rate {
  readonly class: PriceClass
  readonly tier: string
  readonly above: number
  readonly usd: number
}

/** All that a source says of one model at one provider. */
export interface Listing {
  readonly source: SourceName
  readonly provider: Provider
  /** As a client names it. */
  readonly model: string
  readonly kind: Kind
  readonly rates: readonly Rate[]
  /** Of a model whose prices change with the hour: those of each time of day, the ones above among them. */
  readonly hours?: readonly (readonly Rate[])[]
}

/** What a source lists that no client can ask for through a gateway, by why. */
export type Skipped = Map<string, string[]>

export function skip(skipped: Skipped, why: string, name: string): null {
  const names = skipped.get(why) ?? []
  names.push(name)
  skipped.set(why, names)
  return null
}

/** The rate of a class in a call of so many prompt tokens; `undefined`: the source has none for it. */
export function rateAt(
  rates: readonly Rate[],
  wanted: PriceClass,
  tier: string,
  promptTokens: number,
): number | undefined {
  let best: Rate | undefined
  for (const rate of rates) {
    if (rate.class !== wanted || rate.tier !== tier) continue
    if (rate.above > 0 && rate.above >= promptTokens) continue
    if (best === undefined || rate.above > best.above) best = rate
  }
  return best?.usd
}
