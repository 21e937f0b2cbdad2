/**
 * How far estimates are from what upstreams report: each recorded answer with its usage taken away, by maker, kind of
 * prompt and script of the text. `median` and `p95` of the error's size, `bias`: the median of estimate over truth, less one.
 *
 * Run: RECORDINGS_DIR=folder npm run bench:estimates (a recording is a folder with meta.json and response.body)
 */

import { estimatePromptTokens, estimateTextTokens } from '../src/gateway/estimation/estimate-tokens.ts'
import { generatedTextIn, textInCutJson } from '../src/gateway/estimation/generated-text.ts'
import { readPrompt } from '../src/gateway/estimation/prompt-text.ts'
import { dialectOf } from '../test/providers/recordings/dialect-of.ts'
import { loadRecordings, type Recording } from '../test/providers/recordings/recordings.ts'

/** One comparison. */
interface Compared {
  readonly maker: string
  /** `answer`, or a prompt that is plain, has tools, or has media. */
  readonly kind: 'answer' | 'plain' | 'tools' | 'media'
  readonly script: string
  readonly estimate: number
  readonly truth: number
}

const MAKERS: readonly (readonly [maker: string, word: RegExp])[] = [
  ['claude (since Opus 4.7)', /claude-(?:(?:opus|sonnet|haiku|fable|mythos)-[5-9]|opus-4-[78])/],
  ['claude', /claude/],
  ['gemini', /gemini/],
  ['grok', /grok/],
  ['llama', /llama/],
  ['mistral', /stral|mixtral/],
  ['qwen', /qwen/],
  ['deepseek', /deepseek/],
  ['command', /command/],
  ['openai', /gpt|(?:^|\/)o\d|chatgpt/],
]

const SCRIPTS: readonly (readonly [script: string, letters: RegExp])[] = [
  ['han, kana, hangul', /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu],
  ['cyrillic, arabic', /[\p{Script=Cyrillic}\p{Script=Arabic}]/gu],
]

function makerOf(model: string): string {
  return MAKERS.find(([, word]) => word.test(model.toLowerCase()))?.[0] ?? 'others'
}

function scriptOf(text: string): string {
  const found = SCRIPTS.find(([, letters]) => (text.match(letters)?.length ?? 0) * 5 > text.length)
  return found?.[0] ?? 'latin'
}

async function compare({ provider, path, body, meta }: Recording): Promise<readonly Compared[]> {
  const { expected, request_body: request, request_model, method, status } = meta
  const model = expected.model ?? request_model ?? null
  const dialect = dialectOf(provider, method, path)
  if (dialect === null || model === null || status >= 300 || dialect.countsTokens === false) return []
  const maker = makerOf(model)
  const compared: Compared[] = []
  const isWhole = request != null && !('_trimmed' in request) && Object.keys(request).length > 2
  if (isWhole && (expected.input_tokens ?? 0) > 0) {
    const bytes = Buffer.from(JSON.stringify(request))
    const estimate = await estimatePromptTokens(bytes, model, dialect)
    const prompt = readPrompt(request)
    const media = prompt.images + prompt.documents + prompt.videos + prompt.audioBytes
    const kind = media > 0 ? 'media' : prompt.hasTools ? 'tools' : 'plain'
    if (estimate !== null)
      compared.push({
        maker,
        kind,
        script: scriptOf(prompt.text),
        estimate,
        truth: expected.input_tokens ?? 0,
      })
  }
  const truth = expected.output_tokens ?? 0
  const text = generatedTextIn(body, dialect).text || textInCutJson(body, dialect)
  if (truth >= 20 && text !== '' && !(expected.reasoning_tokens ?? 0)) {
    const estimate = await estimateTextTokens(text, model, dialect)
    compared.push({ maker, kind: 'answer', script: scriptOf(text), estimate, truth })
  }
  return compared
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`.padStart(9)

function printGroups(title: string, compared: readonly Compared[], nameOf: (one: Compared) => string): void {
  console.log(`\n${title.padEnd(42)}    n    median       p95      bias`)
  const groups = Map.groupBy(compared, nameOf)
  for (const [name, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const ratios = group.map(({ estimate, truth }) => estimate / truth - 1).sort((a, b) => a - b)
    const errors = ratios.map(Math.abs).sort((a, b) => a - b)
    const figures = [quantile(errors, 0.5), quantile(errors, 0.95), quantile(ratios, 0.5)].map(percent)
    console.log(`${name.padEnd(42)}${String(group.length).padStart(5)} ${figures.join(' ')}`)
  }
}

const recordings = loadRecordings()
if (recordings.length === 0) {
  console.log('set RECORDINGS_DIR: nothing to compare without recorded answers')
} else {
  const compared = (await Promise.all(recordings.map(compare))).flat()
  printGroups('by maker and kind', compared, ({ maker, kind }) => `${maker}, ${kind}`)
  printGroups('by script and kind', compared, ({ script, kind }) => `${script}, ${kind}`)
}
