import { arrayIn, type JsonObject, member, objectIn } from './json-value.ts'

/**
 * Whether a document of a response with a success status carries an error: OpenRouter's and Azure's 200 with
 * `error`, Groq's in `x_groq`, a choice that ended in one, an `error` event of the Responses API or of Anthropic,
 * vLLM's error object, a response that failed.
 */
export function carriesError(document: JsonObject): boolean {
  if (isSaid(document.error) || document.type === 'error' || document.object === 'error') return true
  if (isSaid(member(document, 'response')?.error) || isSaid(member(document, 'x_groq')?.error)) return true
  return arrayIn(document.choices).some((choice) => {
    const { error, finish_reason } = objectIn(choice) ?? {}
    return isSaid(error) || finish_reason === 'error'
  })
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && value !== false
}
