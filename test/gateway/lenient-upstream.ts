import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { event, json, type UpstreamHandler } from '../support/upstream.ts'

/** What the upstream's tokenizer says of the prompt, whatever wrapping it came in. */
export const TRUE_INPUT = 8008
export const TRUE_OUTPUT = 5

/**
 * A chat server that reads every body it can, as several real servers do together. It goes by
 * `content-encoding` where that works (Express), else by the first bytes, or not at all (Go's encoding/json,
 * Starlette), and never by `content-type`. It reads UTF-16 and UTF-32 (Python's json), comments, trailing
 * commas and NaN (JSON5), a value before some junk (Go's Decoder), and keys in any case (Go). It reports the
 * usage of a stream only when it is asked for it.
 */
export const lenientChat: UpstreamHandler = (request, response) => {
  const asked = understand(request.body, request.headers['content-encoding'] ?? '')
  if (asked === null) {
    json(response, 400, { error: { message: 'No JSON.' } })
    return
  }
  const usage = {
    prompt_tokens: TRUE_INPUT,
    completion_tokens: TRUE_OUTPUT,
    total_tokens: TRUE_INPUT + TRUE_OUTPUT,
  }
  const stream = member(asked, 'stream')
  if (stream === undefined || stream === false || stream === null) {
    json(response, 200, {
      model: 'gpt-4o-mini',
      choices: [{ message: { content: 'word '.repeat(5) } }],
      usage,
    })
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let n = 0; n < TRUE_OUTPUT; n++) {
    response.write(event({ choices: [{ index: 0, delta: { content: 'word ' } }] }))
  }
  const options = member(asked, 'stream_options')
  const asksUsage =
    typeof options === 'object' && options !== null && member(options, 'include_usage') === true
  if (asksUsage) response.write(event({ choices: [], usage }))
  response.end('data: [DONE]\n\n')
}

/** As Go finds it: whatever its case, the last one. */
function member(object: object, name: string): unknown {
  return Object.entries(object).findLast(([key]) => key.toLowerCase() === name)?.[1]
}

function understand(body: Buffer, codings: string): object | null {
  for (const bytes of [decoded(body, codings), body, decoded(body, 'gzip')]) {
    if (bytes === null) continue
    for (const encoding of ['utf8', 'utf16le', 'utf16be', 'utf32le'] as const) {
      const value = lenientJson(textOf(bytes, encoding).replace(/^\ufeff/, ''))
      if (value !== null) return value
    }
  }
  return null
}

function decoded(body: Buffer, codings: string): Buffer | null {
  try {
    let bytes = body
    for (const coding of codings.toLowerCase().split(',').toReversed()) {
      const name = coding.trim()
      if (name === 'gzip' || name === 'x-gzip') bytes = gunzipSync(bytes)
      else if (name === 'deflate') bytes = inflateSync(bytes)
      else if (name === 'br') bytes = brotliDecompressSync(bytes)
      else if (name === 'zstd') bytes = zstdDecompressSync(bytes)
    }
    return bytes
  } catch {
    return null
  }
}

function textOf(bytes: Buffer, encoding: 'utf8' | 'utf16le' | 'utf16be' | 'utf32le'): string {
  if (encoding === 'utf32le') return bytes.toString('utf16le').replaceAll('\0', '')
  if (encoding !== 'utf16be') return bytes.toString(encoding)
  return bytes.length % 2 === 0 ? Buffer.from(bytes).swap16().toString('utf16le') : ''
}

function lenientJson(text: string): object | null {
  const plain = text
    .replace(/^\s*\/\*.*?\*\//s, '')
    .replace(/\bNaN\b/g, 'null')
    .replace(/,(\s*[}\]])/g, '$1')
  for (const candidate of [plain, plain.slice(0, plain.lastIndexOf('}junk') + 1)]) {
    try {
      const value: unknown = JSON.parse(candidate)
      if (typeof value === 'object' && value !== null) return value
    } catch {
      // The next may do.
    }
  }
  return null
}
