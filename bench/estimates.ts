/**
 * How far estimates are from what upstreams report: each recorded answer with its usage taken away, by maker, kind of
 * prompt and script of the text. `median` and `p95` of the error's size, `bias`: the median of estimate over truth, less one.
 * `learned`: the median of the error's size after fifty other calls of the same maker and kind that reported their usage.
 *
 * Run: RECORDINGS_DIR=folder npm run bench:estimates (a recording is a folder with meta.json and response.body)
 */

import { forcesCall } from '../src/gateway/estimation/called-tools.ts'
import { estimatePromptTokens, estimateTextTokens } from '../src/gateway/estimation/estimate-tokens.ts'
import { generatedTextIn, textInCutJson } from '../src/gateway/estimation/generated-text.ts'
import {
  kindOfAnswer,
  kindOfPrompt,
  LearnedRatios,
  type RatioKey,
} from '../src/gateway/estimation/learning/learned-ratios.ts'
import { type Prompt, readPrompt } from '../src/gateway/estimation/prompt-text.ts'
import { showsItsPrompt } from '../src/gateway/estimation/shown-prompt.ts'
import { mayGenerateUnseen } from '../src/gateway/estimation/unseen-output.ts'
import { dialectOf } from '../test/providers/recordings/dialect-of.ts'
import { loadRecordings, type Recording } from '../test/providers/recordings/recordings.ts'
import { quantile } from './stand/figures.ts'

/** One comparison. */
interface Compared {
  readonly maker: string
  /** `answer`, or a prompt that is plain, has tools, or media: whose size the bytes hold, or not. */
  readonly kind: 'answer' | 'plain' | 'tools' | 'media' | 'media of unknown size'
  readonly script: string
  readonly hasTools: boolean
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
  const { hasTools } = readPrompt(request)
  const requestBody = request == null ? null : Buffer.from(JSON.stringify(request))
  // What the provider adds or hides no bytes tell: there limits and the seconds count, and no tokenizer.
  const models = [request_model ?? null, expected.model]
  const isShown = showsItsPrompt(requestBody, models)
  const hides = mayGenerateUnseen({ provider, models, requestBody, answerHead: body.subarray(0, 32_768) })
  const isWhole = request != null && !('_trimmed' in request) && Object.keys(request).length > 2
  if (isWhole && requestBody !== null && (isShown || hasMedia(request)) && (expected.input_tokens ?? 0) > 0) {
    const estimate = await estimatePromptTokens(requestBody, model, dialect)
    const prompt = readPrompt(request)
    const media = isOfUnknownSize(prompt) ? 'media of unknown size' : 'media'
    const kind = hasMedia(request) ? media : prompt.hasTools ? 'tools' : 'plain'
    if (estimate !== null)
      compared.push({
        maker,
        kind,
        script: scriptOf(prompt.text),
        hasTools,
        estimate,
        truth: expected.input_tokens ?? 0,
      })
  }
  const truth = expected.output_tokens ?? 0
  const whole = generatedTextIn(body, dialect)
  const { text, calls } = whole.text === '' && whole.calls === 0 ? textInCutJson(body, dialect) : whole
  if (truth >= 20 && text !== '' && !hides && !(expected.reasoning_tokens ?? 0)) {
    const called = { calls, isForced: forcesCall(requestBody) }
    const estimate = await estimateTextTokens(text, model, dialect, called)
    compared.push({ maker, kind: 'answer', script: scriptOf(text), hasTools, estimate, truth })
  }
  return compared
}

function hasMedia(request: unknown): boolean {
  const { images, pictures, lowDetailImages, documents, pages, videos, videoMs, audioBytes, audioMs } =
    readPrompt(request)
  const seen = images + pictures.length + lowDetailImages + documents + pages + videos + videoMs
  return seen + audioBytes + audioMs > 0
}

function isOfUnknownSize({ images, documents, videos, audioBytes }: Prompt): boolean {
  return images + documents + videos + audioBytes > 0
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`.padStart(9)

const TAUGHT = 50

/** The estimate after what up to fifty others of its group taught. */
function afterLearning(one: Compared, group: readonly Compared[]): number {
  const ratios = new LearnedRatios()
  const keyOf = ({ kind, hasTools, estimate }: Compared): RatioKey => ({
    clientId: 'bench',
    model: one.maker,
    kind: kind === 'answer' ? kindOfAnswer(hasTools, estimate) : kindOfPrompt(hasTools, estimate),
  })
  const others = group.filter((other) => other !== one)
  const first = group.indexOf(one)
  for (let taught = 0; taught < Math.min(TAUGHT, others.length); taught++) {
    const other = others[(first + taught * 7) % others.length]
    if (other !== undefined) ratios.add(keyOf(other), other.estimate, other.truth)
  }
  return ratios.correct(keyOf(one), one.estimate)
}

function printGroups(title: string, compared: readonly Compared[], nameOf: (one: Compared) => string): void {
  console.log(`\n${title.padEnd(42)}    n    median       p95      bias   learned`)
  const groups = Map.groupBy(compared, nameOf)
  for (const [name, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const ratios = group.map(({ estimate, truth }) => estimate / truth - 1).sort((a, b) => a - b)
    const errors = ratios.map(Math.abs).sort((a, b) => a - b)
    const learned = group
      .map((one) => Math.abs(afterLearning(one, group) / one.truth - 1))
      .sort((a, b) => a - b)
    const figures = [
      ...[quantile(errors, 0.5), quantile(errors, 0.95), quantile(ratios, 0.5), quantile(learned, 0.5)],
    ].map(percent)
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
