/** A picture's size in pixels. */
export interface Picture {
  readonly width: number
  readonly height: number
}

/** Base64 of so many characters has the size of every format but JPEG, which may have a small picture before it. */
const HEAD_CHARS = 64
const JPEG_HEAD_CHARS = 128 * 1024

/**
 * The size of a picture by its head: PNG, JPEG, WebP, GIF. `null`: it is none of these, or none at all.
 *
 * @param base64 or a `data:` URL with it
 */
export function pictureSize(base64: string): Picture | null {
  const encoded = base64Of(base64)
  const head = Buffer.from(encoded.slice(0, HEAD_CHARS), 'base64')
  const isJpeg = head.length > 3 && head[0] === 0xff && head[1] === 0xd8
  try {
    const [width, height] = isJpeg
      ? jpegSize(Buffer.from(encoded.slice(0, JPEG_HEAD_CHARS), 'base64'))
      : sizeInHead(head)
    return width > 0 && height > 0 ? { width, height } : null
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Without what a `data:` URL has before it. */
export function base64Of(text: string): string {
  return text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text
}

type Size = readonly [width: number, height: number]
const NO_SIZE: Size = [0, 0]

function sizeInHead(head: Buffer): Size {
  const magic = head.toString('latin1', 0, 4)
  if (magic === '\x89PNG') return [head.readUInt32BE(16), head.readUInt32BE(20)]
  if (magic === 'GIF8') return [head.readUInt16LE(6), head.readUInt16LE(8)]
  if (magic !== 'RIFF' || head.toString('latin1', 8, 11) !== 'WEB') return NO_SIZE
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return [head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff]
    case 'VP8L': {
      const bits = head.readUInt32LE(21)
      return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1]
    }
    case 'VP8X':
      return [head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1]
    default:
      return NO_SIZE
  }
}

/** Frames begin with a marker that has the size, of which there are thirteen; three others look like these. */
function jpegSize(bytes: Buffer): Size {
  for (let at = 2; at + 9 < bytes.length; ) {
    if (bytes[at] !== 0xff) return NO_SIZE
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at += 1
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)]
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return NO_SIZE
}

type PictureRule = (picture: Picture) => number

/** By a word in the model's name; the first that is there decides. What recorded calls show differs from some pages. */
const RULES: readonly (readonly [word: RegExp, tokens: PictureRule])[] = [
  // https://platform.claude.com/docs/en/build-with-claude/vision: pieces of 28 pixels, of what is made to fit.
  [
    /claude-(?:(?:opus|sonnet|haiku|fable|mythos)-(?:[5-9]|\d\d)(?!\d)|opus-4-[7-9])/,
    (picture) => pieces(within(picture, 2576, 4784 * 28 * 28), 28),
  ],
  [/claude/, (picture) => pieces(within(picture, 1568, 1568 * 28 * 28), 28)],
  // https://ai.google.dev/gemini-api/docs/media-resolution and …/tokens. Gemini 2.5 counts a picture of any size as one piece.
  [/gemini-(?:[3-9]|\d\d)/, () => 1120],
  [/gemini-(?:1|2\.0)/, geminiTiles],
  [/gemini/, () => 258],
  // https://developers.openai.com/api/docs/guides/images-vision: tiles of 512 pixels, or patches of 32.
  [/gpt-4o-mini/, tiles(2833, 5667)],
  [/gpt-4\.1-mini/, patches(1.62)],
  [/gpt-4\.1-nano/, patches(2.46)],
  [/gpt-5(?:\.\d+)?-mini/, patches(1.2)],
  [/gpt-5(?:\.\d+)?-nano/, patches(1.5)],
  [/o4-mini/, patches(1.72)],
  [/computer-use/, tiles(65, 129)],
  [/(?:^|[/.:])o[13](?:-|$)/, tiles(75, 150)],
  [/gpt-5/, tiles(70, 140)],
  [/gpt-4|chatgpt-4o/, tiles(85, 170)],
  // https://github.com/QwenLM/Qwen2.5-VL and …/Qwen3-VL: whole pieces of 28 pixels, of 32 since 3.
  [/qwen-?2.*vl|qvq|glm-4.*v/, wholePieces(28)],
  [/qwen-?3.*vl/, wholePieces(32)],
  // https://docs.mistral.ai/capabilities/vision: each row of pieces has one token more.
  [/pixtral/, rows(16, 1024)],
  [/stral/, rows(28, 1540)],
  [/llama-?4/, llamaTiles],
  // By recorded calls.
  [/nova-2/, ({ width, height }) => (width * height) / 784 + 16],
  [/nova-/, () => 1826],
  [/command/, ({ width, height }) => pieces({ width, height }, 512) * 256 + 2],
  [/grok/, () => 256],
]

/** Of a picture that is named by a URL or an id. */
const USUAL: Picture = { width: 1024, height: 1024 }

/** Tokens of a picture at full detail; `null`: the maker says no rule. Without a size: of the usual one. */
export function tokensOfPicture(model: string, picture: Picture = USUAL): number | null {
  const name = model.toLowerCase()
  const rule = RULES.find(([word]) => word.test(name))?.[1]
  return rule === undefined ? null : rule(picture)
}

function pieces({ width, height }: Picture, side: number): number {
  return Math.ceil(width / side) * Math.ceil(height / side)
}

function rows(side: number, longest: number): PictureRule {
  return (picture) => {
    const { width, height } = within(picture, longest, Number.POSITIVE_INFINITY)
    return (Math.ceil(width / side) + 1) * Math.ceil(height / side)
  }
}

const LLAMA_SIDE = 336
const LLAMA_TILES = 16

/**
 * Tiles of 336 pixels, and one of the whole: the grid that enlarges the picture least, else shrinks it least.
 * https://github.com/meta-llama/llama-models, models/llama4.
 */
function llamaTiles({ width, height }: Picture): number {
  const grids = Array.from({ length: LLAMA_TILES }, (_, at) => at + 1).flatMap((across) =>
    Array.from({ length: Math.floor(LLAMA_TILES / across) }, (_, at) => {
      const scale = Math.min((across * LLAMA_SIDE) / width, ((at + 1) * LLAMA_SIDE) / height)
      return { scale, tiles: across * (at + 1) }
    }),
  )
  const larger = grids.filter(({ scale }) => scale >= 1)
  const [best] = (larger.length > 0 ? larger : grids).sort(
    (a, b) => (larger.length > 0 ? a.scale - b.scale : b.scale - a.scale) || a.tiles - b.tiles,
  )
  const tiles = best?.tiles ?? 1
  return (tiles > 1 ? tiles + 1 : 1) * 144 + tiles + 9
}

const MOST_WHOLE_PIECES = 16_384

/** The sides are rounded to whole pieces. */
function wholePieces(side: number): PictureRule {
  return (picture) => {
    const { width, height } = within(picture, Number.POSITIVE_INFINITY, MOST_WHOLE_PIECES * side * side)
    return Math.max(1, Math.round(width / side)) * Math.max(1, Math.round(height / side))
  }
}

/** Made smaller, where it is too long or has too many pixels. */
function within({ width, height }: Picture, longest: number, most: number): Picture {
  const byEdge = Math.min(1, longest / Math.max(width, height))
  const scale = Math.min(byEdge, Math.sqrt(most / (width * height)))
  return { width: width * scale, height: height * scale }
}

/** Fits into 2048 pixels, then its shorter side is 768 at most. */
function tiles(base: number, each: number): PictureRule {
  return (picture) => {
    const { width, height } = within(picture, 2048, Number.POSITIVE_INFINITY)
    const scale = Math.min(1, 768 / Math.min(width, height))
    return base + each * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512)
  }
}

const MOST_PATCHES = 1536

function patches(tokensPerPatch: number): PictureRule {
  return ({ width, height }) => {
    const whole = pieces({ width, height }, 32)
    if (whole <= MOST_PATCHES) return whole * tokensPerPatch
    const scale = Math.sqrt((MOST_PATCHES * 32 * 32) / (width * height))
    const [across, down] = [(width * scale) / 32, (height * scale) / 32]
    const shrunk = scale * Math.min(Math.floor(across) / across, Math.floor(down) / down)
    return pieces({ width: width * shrunk, height: height * shrunk }, 32) * tokensPerPatch
  }
}

/** One piece up to 384 pixels a side; of larger ones, pieces that are scaled to 768, and one of the whole. */
function geminiTiles({ width, height }: Picture): number {
  if (width <= 384 && height <= 384) return 258
  const unit = Math.max(256, Math.min(768, Math.floor(Math.min(width, height) / 1.5)))
  return 258 * (pieces({ width, height }, unit) + 1)
}
