// The answer to a client about another's object: what the upstream itself would say of one that is not there.
import type { Provider } from '../providers/registry.ts'

/** Body of the 404, in the shape of the provider behind the path. */
export function notFoundBody(provider: Provider, canonicalPath: string): object {
  if (provider === 'anthropic' || /\/messages(?:\/|$)/i.test(canonicalPath)) {
    return { type: 'error', error: { type: 'not_found_error', message: 'Not found' } }
  }
  if (provider === 'gemini' || provider === 'vertex') {
    return { error: { code: 404, message: 'Requested entity was not found.', status: 'NOT_FOUND' } }
  }
  if (provider === 'bedrock') return { message: 'The resource was not found.' }
  if (provider === 'mistral') return { detail: 'Not found' }
  return {
    error: {
      message: 'No such object: it does not exist, or is not yours.',
      type: 'invalid_request_error',
      param: 'id',
      code: null,
    },
  }
}
