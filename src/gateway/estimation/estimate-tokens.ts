import { parsedJson } from '../../domain/json.ts'
import type { PromptFormat } from '../../providers/dialect.ts'
import { familyOf, type ModelFamily } from '../../providers/model-family.ts'
import { countJsonValues } from '../../providers/wires/json-bytes.ts'
import { argumentsIn, type CalledTools, forcesCall, NO_CALLS } from './called-tools.ts'
import { tokensOfPicture } from './pictures.ts'
import { type Prompt, readPrompt } from './prompt-text.ts'
import { loadPairCounter, type PairCounter } from './tokenizer/count-pairs.ts'
import type { Encoding } from './tokenizer/token-table.ts'

/** No prompt of text comes near this. */
const MAX_PARSED_BYTES = 32 * 1024 * 1024
/**
 * Three bytes of hostile JSON become a hundred in memory, and a thread that runs out of it takes the process along:
 * with this many values parsing stays under 100 MB.
 */
const MAX_PARSED_VALUES = 500_000

/** Texts up to this many UTF-16 units are counted whole; of longer ones this much is, in pieces evenly spread. */
const MAX_COUNTED_LENGTH = 128 * 1024
/**
 * Length of a piece. The tokenizer's time grows with the square of a run without spaces or punctuation; at this
 * length the worst such piece takes some 10 ms.
 */
const PIECE_LENGTH = 2048
/** No text is counted for longer than this: the rest is extrapolated, so that one cannot hold up the others. */
const MAX_COUNTING_MS = 100
/** How far before a piece's end a space is looked for, where a cut costs no token. */
const CUT_SEARCH_LENGTH = 64
/** Pieces are counted in this many rounds. */
const SPREAD = 8

/** OpenAI's older models; all since gpt-4o share the other encoding (gpt-tokenizer's model list). */
const CL100K_MODELS =
  /^(?:gpt-4|gpt-3\.5|gpt-35|text-embedding-ada|text-embedding-3|davinci-002|babbage-002)(?:-|$)/

const counters = new Map<Encoding, Promise<PairCounter>>()

/**
 * Tokens of `text` in the OpenAI encoding that is `model`'s, or comes nearest: exact up to 128 Ki characters,
 * beyond that, and for text that is slow to count, extrapolated from samples. Loads the tokenizer at first need:
 * 0.1 s and 5 MB. What looks like a special token is text: it came from a client or a model.
 */
async function countOpenAiTokens(text: string, model: string | null): Promise<number> {
  if (text === '') return 0
  const counter = await counterFor(CL100K_MODELS.test(bareName(model)) ? 'cl100k_base' : 'o200k_base')
  const deadline = performance.now() + MAX_COUNTING_MS
  let counted = 0
  let countedLength = 0
  for (const piece of spreadOut(piecesOf(text))) {
    counted += counter.count(piece)
    countedLength += piece.length
    if (performance.now() > deadline) break
  }
  return counted * (text.length / countedLength)
}

/** The same in a family's own tokens, but for what its words and templates make of them. */
async function countTokens(text: string, model: string | null, family: ModelFamily): Promise<number> {
  const counted = await countOpenAiTokens(text, model)
  return family.splitsDigits ? counted + beyondThrees(text) : counted
}

/** How many more tokens the digits of a text are one by one than by three. */
function beyondThrees(text: string): number {
  let beyond = 0
  let run = 0
  for (let at = 0; at <= text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x30 && code <= 0x39) run += 1
    else if (run > 0) {
      beyond += run - Math.ceil(run / 3)
      run = 0
    }
  }
  return beyond
}

/** `pieces` in an order in which the first few stand for all: from every eighth to the ones between. */
function* spreadOut(pieces: readonly string[]): Generator<string> {
  for (let offset = 0; offset < SPREAD; offset++) {
    for (let i = offset; i < pieces.length; i += SPREAD) yield pieces[i] ?? ''
  }
}

function counterFor(encoding: Encoding): Promise<PairCounter> {
  let counter = counters.get(encoding)
  if (counter === undefined) {
    counter = loadPairCounter(encoding)
    counters.set(encoding, counter)
  }
  return counter
}

/** Lower case, without a maker's prefix (`openai/`) and a fine-tune's (`ft:`). */
function bareName(model: string | null): string {
  const name = (model ?? '').toLowerCase().replace(/^ft:/, '')
  return name.slice(name.lastIndexOf('/') + 1)
}

/** Pieces of `text` that make it up, or, of a long one, that stand for it. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = []
  if (text.length > MAX_COUNTED_LENGTH) {
    const stride = (text.length / MAX_COUNTED_LENGTH) * PIECE_LENGTH
    for (let start = 0; start + PIECE_LENGTH <= text.length; start += stride) {
      pieces.push(text.slice(start, start + PIECE_LENGTH))
    }
    return pieces
  }
  for (let start = 0; start < text.length; ) {
    const end = cutBefore(text, start + PIECE_LENGTH)
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

function cutBefore(text: string, wanted: number): number {
  if (wanted >= text.length) return text.length
  for (let cut = wanted; cut > wanted - CUT_SEARCH_LENGTH; cut--) {
    if (text[cut] === ' ' || text[cut] === '\n') return cut
  }
  return wanted
}

/** Estimates the tokens of generated `text`, with what stands around the calls of tools in it. */
export async function estimateTextTokens(
  text: string,
  model: string | null,
  format: PromptFormat,
  { calls, isForced }: CalledTools = NO_CALLS,
): Promise<number> {
  if (text === '' && calls === 0) return 0
  const family = familyOf(model, format)
  const counted = await countTokens(text, model, family)
  const plain = counted * family.tokensPerGeneratedToken + family.tokensPerAnswer
  if (calls === 0) return Math.round(plain)
  const around =
    calls * family.tokensPerCall +
    argumentsIn(text) * family.tokensPerArgument +
    (calls > 1 ? family.tokensPerSeveralCalls : 0) -
    (isForced ? family.tokensOfForcedCall : 0)
  return Math.round(Math.max(counted, plain + around))
}

/**
 * Estimates the tokens of the prompt in a request's JSON; `null` when it cannot be read as JSON, is too big, or has no
 * prompt where one would stand: some servers read keys that others do not.
 */
export async function estimatePromptTokens(
  body: Buffer,
  model: string | null,
  format: PromptFormat,
): Promise<number | null> {
  if (body.length > MAX_PARSED_BYTES) return null
  if (countJsonValues(body, MAX_PARSED_VALUES) > MAX_PARSED_VALUES) return null
  const request = parsedJson(body.toString('utf8').replace(/^\ufeff/, ''))
  if (request === undefined) return null
  const prompt = readPrompt(request)
  if (isEmpty(prompt)) return null
  const usual = familyOf(model, format)
  const differing = prompt.isChat ? usual.inChat : prompt.isInput ? usual.inResponses : undefined
  const there = format.tokenizerFamily === 'vertex' ? usual.atVertex : undefined
  const family = differing === undefined && there === undefined ? usual : { ...usual, ...differing, ...there }
  const messages = Math.max(prompt.messages, format.isChat === true ? 1 : 0)
  return Math.round(
    (await countTokens(prompt.text, model, family)) * family.tokensPerOpenAiToken +
      (await countTokens(prompt.definitions, model, family)) * family.tokensPerDefinitionToken +
      (messages > 0 ? family.tokensPerChat : 0) +
      messages * family.tokensPerMessage +
      (prompt.hasTools ? family.tokensPerToolList : 0) +
      (prompt.hasTools && forcesCall(body) ? family.tokensPerForcingPrompt : 0) +
      prompt.tools * family.tokensPerTool +
      prompt.calls * family.tokensPerPastCall +
      prompt.arguments * family.tokensPerArgument +
      prompt.results * family.tokensPerResult +
      prompt.tokenIds +
      prompt.images * (tokensOfPicture(model ?? '') ?? family.tokensPerImage) +
      picturesIn(prompt, model ?? '', family) +
      prompt.lowDetailImages * family.tokensPerLowDetailImage +
      prompt.videos * family.tokensPerVideo +
      (prompt.videoMs / 1000) * family.videoTokensPerSecond +
      prompt.documents * family.tokensPerDocument +
      prompt.pages * family.tokensPerPage +
      (prompt.audioMs / 1000) * family.audioTokensPerSecond +
      prompt.audioBytes / family.audioBytesPerToken,
  )
}

function picturesIn({ pictures }: Prompt, model: string, { tokensPerImage }: ModelFamily): number {
  return pictures.reduce((sum, picture) => sum + (tokensOfPicture(model, picture) ?? tokensPerImage), 0)
}

function isEmpty(prompt: Prompt): boolean {
  const {
    text,
    definitions,
    messages,
    tokenIds,
    images,
    lowDetailImages,
    videos,
    videoMs,
    documents,
    pages,
    audioBytes,
    audioMs,
  } = prompt
  const pictures = images + prompt.pictures.length
  return (
    text === '' &&
    definitions === '' &&
    messages + tokenIds + pictures + lowDetailImages + videos + videoMs + documents + pages === 0 &&
    audioBytes + audioMs === 0
  )
}
