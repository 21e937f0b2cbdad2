import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { ErrorShape } from '../../http/error-shape.ts'
import { apiFamilyOf } from '../../providers/paths/family.ts'
import type { ApiFamily } from '../../providers/provider.ts'
import type { Provider } from '../../providers/registry.ts'
import { targetOf } from './call-target.ts'

const SHAPES: Readonly<Record<ApiFamily, ErrorShape>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  bedrock: 'aws',
  ollama: 'ollama',
  cohere: 'message',
}
/** Those whose paths are OpenAI's, and whose own libraries read other errors. */
const OWN_SHAPES: ReadonlyMap<Provider, ErrorShape> = new Map([
  ['mistral', 'message'],
  ['xai', 'xai'],
])
/** Google serves OpenAI's API below its own. */
const OPENAI_WITHIN = /\/openai\//i

/**
 * The shape of errors that the client library behind a call reads: by the path and the header of its credential, and
 * where it is routed, by its provider.
 *
 * @param path canonical
 */
export function errorShapeOf(
  path: string,
  headers: IncomingHttpHeaders,
  provider: Provider | null,
): ErrorShape {
  const family = OPENAI_WITHIN.test(path) ? 'openai' : (apiFamilyOf(path, headers) ?? 'openai')
  return family === 'openai' && provider !== null ? (OWN_SHAPES.get(provider) ?? 'openai') : SHAPES[family]
}

/** The same for a request of which no stage knows anything yet. */
export function shapeOfRequest({ url = '/', headers }: IncomingMessage): ErrorShape {
  return errorShapeOf(targetOf(url)?.canonicalPath ?? '', headers, null)
}
