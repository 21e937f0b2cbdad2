import { isUtf8 } from 'node:buffer'
import { filmLengthMs, soundLengthMs } from '../forms/sound-length.ts'
import { argumentsIn } from './called-tools.ts'
import { pdfPages } from './pdf-pages.ts'
import { base64Of, type Picture, pictureSize } from './pictures.ts'

/** What in a request a model reads as its prompt, for an estimate of its tokens. */
export interface Prompt {
  /** Every text the model reads. */
  readonly text: string
  /** Definitions of tools and of the answer's form, as JSON. */
  readonly definitions: string
  /** Messages, for the tokens that a chat template puts around each. */
  readonly messages: number
  /** They stand under `messages`, as in OpenAI's chat. */
  readonly isChat: boolean
  /** They stand under `input`, as in OpenAI's responses. */
  readonly isInput: boolean
  readonly hasTools: boolean
  /** Tools that are defined. */
  readonly tools: number
  /** Calls of tools in earlier turns, their arguments, and what came of them. */
  readonly calls: number
  readonly arguments: number
  readonly results: number
  /** Tokens that the request names as numbers. */
  readonly tokenIds: number
  /** Those whose size is not in the request. */
  readonly images: number
  readonly pictures: readonly Picture[]
  readonly lowDetailImages: number
  /** Files that do not say how many pages they have, and the pages of those that do. */
  readonly documents: number
  readonly pages: number
  /** Films that do not say how long they play, and the length of those that do. */
  readonly videos: number
  readonly videoMs: number
  /** How long the sound plays that says so, and the bytes of what does not, decoded from base64. */
  readonly audioMs: number
  readonly audioBytes: number
}

/** Top-level keys that hold prompts, in all formats that the gateway reads. */
const PROMPT_KEYS = new Set([
  ...['messages', 'system', 'input', 'instructions', 'prompt', 'suffix', 'images', 'image'],
  ...['contents', 'content', 'systemInstruction', 'system_instruction', 'requests', 'instances'],
  ...['inputs', 'inputText', 'inputImage', 'singleEmbeddingParams', 'input_prefix', 'input_suffix'],
  ...['message', 'chat_history', 'preamble', 'tool_results', 'texts', 'query', 'documents'],
  'token_ids',
])

/** Top-level keys whose values a model reads as JSON: tools, and, where it holds a schema, the answer's form. */
const TOOL_KEYS = new Set(['tools', 'functions', 'toolConfig'])
const FORM_KEYS = new Set(['response_format', 'output_format', 'format', 'text'])

/** Keys whose values no model reads: they say what their neighbours are. */
const UNREAD_KEYS = new Set([
  ...['type', 'role', 'id', 'index', 'status', 'phase', 'title', 'model', 'detail', 'format'],
  ...['call_id', 'tool_call_id', 'tool_use_id', 'toolUseId', 'tool_name', 'cache_control', 'cachePoint'],
  ...['citations', 'signature', 'thoughtSignature', 'thought_signature', 'encrypted_content'],
  ...['task_type', 'taskType', 'embeddingPurpose', 'truncationMode'],
])

type MediaKind = 'image' | 'audio' | 'video' | 'document'

/** Types of content parts that are not text, and words for each kind in their MIME types. */
const MEDIA_TYPES: ReadonlyMap<unknown, MediaKind> = new Map([
  ['image', 'image'],
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['input_audio', 'audio'],
  ['audio', 'audio'],
  ['audio_url', 'audio'],
  ['video', 'video'],
  ['video_url', 'video'],
  ['document', 'document'],
  ['file', 'document'],
  ['input_file', 'document'],
])
const MEDIA_KEYS: ReadonlyMap<string, MediaKind> = new Map([
  ['images', 'image'],
  ['image', 'image'],
  ['inputImage', 'image'],
])
const MIME_TYPE_KEYS = ['mimeType', 'mime_type', 'media_type'] as const
const INLINE_KEYS = ['inlineData', 'inline_data', 'fileData', 'file_data'] as const

/** Calls of tools in earlier turns and their results, by a part's type, or by the key that has it. */
const CALL_TYPES: ReadonlySet<unknown> = new Set(['tool_use', 'function_call'])
const CALL_KEYS = ['toolUse', 'functionCall', 'function_call', 'function'] as const
const ARGUMENT_KEYS = ['input', 'args', 'arguments'] as const
const RESULT_TYPES: ReadonlySet<unknown> = new Set(['tool_result', 'function_call_output'])
const RESULT_KEYS = ['toolResult', 'functionResponse', 'function_response'] as const

/** Reads the prompt out of a request body's JSON, whichever format it is in; unknown keys are not prompts. */
export function readPrompt(request: unknown): Prompt {
  const reading = new PromptReading()
  for (const [key, value] of entriesOf(request)) {
    if (key === 'messages') reading.isChat = true
    if (key === 'input') reading.isInput = true
    if (key === 'instructions') reading.messages++
    if (PROMPT_KEYS.has(key)) reading.read(key, value)
    else if (TOOL_KEYS.has(key)) reading.readTools(key, value)
    else if (FORM_KEYS.has(key)) reading.readForm(value)
  }
  return reading
}

class PromptReading implements Prompt {
  readonly #texts: string[] = []
  readonly #definitions: string[] = []
  messages = 0
  isChat = false
  isInput = false
  hasTools = false
  tools = 0
  calls = 0
  arguments = 0
  results = 0
  tokenIds = 0
  images = 0
  readonly pictures: Picture[] = []
  lowDetailImages = 0
  documents = 0
  pages = 0
  videos = 0
  videoMs = 0
  audioMs = 0
  audioBytes = 0

  get text(): string {
    return this.#texts.join('\n')
  }

  get definitions(): string {
    return this.#definitions.join('\n')
  }

  /** Walks with a stack of its own: a request may be nested as deep as it likes. */
  read(topKey: string, topValue: unknown): void {
    const waiting: [key: string, value: unknown][] = [[topKey, topValue]]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [key, value] = next
      if (typeof value === 'string') {
        this.#readString(key, value)
      } else if (Array.isArray(value)) {
        if (typeof value[0] === 'number') this.tokenIds += value.length
        else for (const item of value.toReversed()) waiting.push([key, item])
      } else if (typeof value === 'object' && value !== null && !isHidden(value) && !this.#readMedia(value)) {
        if ('role' in value) this.messages++
        this.#countCall(value)
        for (const [name, inner] of entriesOf(value).toReversed()) {
          if (!UNREAD_KEYS.has(name)) waiting.push([name, inner])
        }
      }
    }
  }

  readTools(key: string, tools: unknown): void {
    // Bedrock has the tools there, Gemini only how they are to be called.
    if (key === 'toolConfig' && memberOf(tools, 'tools') === undefined) return
    if (entriesOf(tools).length === 0) return
    this.hasTools = true
    this.tools += toolsIn(tools)
    this.#definitions.push(JSON.stringify(tools))
  }

  readForm(form: unknown): void {
    const json = entriesOf(form).length === 0 ? '' : JSON.stringify(form)
    if (json.includes('"schema"') || json.includes('"properties"')) this.#definitions.push(json)
  }

  #countCall(part: object): void {
    const fields: { readonly [key: string]: unknown } = { ...part }
    if (RESULT_TYPES.has(fields.type) || fields.role === 'tool' || fields.role === 'function') this.results++
    for (const key of RESULT_KEYS) if (typeof fields[key] === 'object') this.results++
    const called = CALL_TYPES.has(fields.type) ? [part] : CALL_KEYS.map((key) => fields[key])
    for (const call of called) {
      if (typeof memberOf(call, 'name') !== 'string') continue
      this.calls++
      for (const key of ARGUMENT_KEYS) {
        const given = memberOf(call, key)
        this.arguments += typeof given === 'string' ? argumentsIn(given) : entriesOf(given).length
      }
    }
  }

  #readString(key: string, value: string): void {
    const kind = MEDIA_KEYS.get(key)
    if (kind === undefined) this.#texts.push(value)
    else this.#addMedia(kind, value, null)
  }

  /** Whether `part` is a picture, a sound, a film or a file, and so has been counted as one. */
  #readMedia(part: object): boolean {
    const fields: { readonly [key: string]: unknown } = { ...part }
    for (const key of INLINE_KEYS) {
      const inline = fields[key]
      if (typeof inline === 'object' && inline !== null) {
        this.#addMedia(kindOfMimeType(inline), inline, null)
        return true
      }
    }
    const kind = MEDIA_TYPES.get(fields.type)
    if (kind !== undefined) {
      if (kind === 'document' && isTextSource(fields.source)) return false
      this.#addMedia(kind, part, fields.detail ?? memberOf(fields.image_url, 'detail'))
      return true
    }
    // Bedrock's converse has the kind as the key: { image: { format, source } }.
    const [[key, value] = ['', null], ...others] = Object.entries(fields)
    if (others.length > 0 || typeof value !== 'object' || value === null || !('source' in value)) return false
    const bedrockKind = MEDIA_TYPES.get(key)
    if (bedrockKind === undefined) return false
    this.#addMedia(bedrockKind, value, null)
    return true
  }

  #addMedia(kind: MediaKind, part: unknown, detail: unknown): void {
    if (kind === 'image' && detail === 'low') this.lowDetailImages++
    else if (kind === 'image') this.#addPicture(pictureSize(longestString(part)))
    else {
      const file = Buffer.from(base64Of(longestString(part)), 'base64')
      if (kind === 'document') this.#addDocument(file)
      else if (kind === 'video') this.#addVideo(filmLengthMs(file))
      else this.#addSound(file)
    }
  }

  #addDocument(file: Buffer): void {
    const pages = pdfPages(file)
    if (pages !== null) this.pages += pages
    else if (isText(file)) this.#texts.push(file.toString())
    else this.documents++
  }

  #addVideo(ms: number | null): void {
    if (ms === null) this.videos++
    else this.videoMs += ms
  }

  #addSound(sound: Buffer): void {
    const ms = soundLengthMs(sound)
    if (ms === null) this.audioBytes += sound.length
    else this.audioMs += ms
  }

  #addPicture(picture: Picture | null): void {
    if (picture === null) this.images++
    else this.pictures.push(picture)
  }
}

/** Thoughts of earlier turns that only their maker can read. */
function isHidden(part: object): boolean {
  return 'type' in part && (part.type === 'redacted_thinking' || part.type === 'reasoning.encrypted')
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

function memberOf(value: unknown, key: string): unknown {
  return entriesOf(value).find(([name]) => name === key)?.[1]
}

/** No id or address that is taken for base64 comes out as one. */
const SHORTEST_TEXT = 16

function isText(file: Buffer): boolean {
  return file.length >= SHORTEST_TEXT && isUtf8(file) && !file.includes(0)
}

/** Gemini has lists of functions in one tool, Bedrock a list of tools beside the choice. */
function toolsIn(tools: unknown): number {
  const listed = Array.isArray(tools) ? tools : entriesOf(memberOf(tools, 'tools')).map(([, tool]) => tool)
  return listed.reduce<number>((sum, tool) => {
    const functions = memberOf(tool, 'functionDeclarations') ?? memberOf(tool, 'function_declarations')
    return sum + (Array.isArray(functions) ? functions.length : 1)
  }, 0)
}

function mimeTypeOf(part: unknown): string {
  for (const key of MIME_TYPE_KEYS) {
    const mimeType = memberOf(part, key)
    if (typeof mimeType === 'string') return mimeType
  }
  return ''
}

/** Anthropic's documents may be text, or content blocks. */
function isTextSource(source: unknown): boolean {
  return mimeTypeOf(source) === 'text/plain' || memberOf(source, 'type') === 'content'
}

function kindOfMimeType(part: unknown): MediaKind {
  const [family] = mimeTypeOf(part).split('/')
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'document'
}

/** The longest string in `part` or one level in it: the base64 among its labels. */
function longestString(part: unknown): string {
  if (typeof part === 'string') return part
  const inner = entriesOf(part).flatMap(([, value]) => [
    value,
    ...entriesOf(value).map(([, deeper]) => deeper),
  ])
  return inner.reduce<string>(
    (longest, value) => (typeof value === 'string' && value.length > longest.length ? value : longest),
    '',
  )
}
