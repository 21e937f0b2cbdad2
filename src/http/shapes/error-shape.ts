import { ERRORS, type ErrorDetail, type ErrorName } from '../errors.ts'

/**
 * How an error is written: as the API does that the client library is made for. `message` is Mistral's and Cohere's,
 * `aws` Bedrock's, `google` Gemini's and Vertex's.
 */
export type ErrorShape = 'openai' | 'anthropic' | 'google' | 'aws' | 'ollama' | 'message' | 'xai'

/** Libraries of AWS try a 429 again whatever it says; this one they do not. */
const SPENT_AT_AWS = 400

/** The status of an error in this shape. */
export function errorStatus(shape: ErrorShape, name: ErrorName): number {
  return shape === 'aws' && name === 'budget_exceeded' ? SPENT_AT_AWS : ERRORS[name].status
}

/** Headers of an error beside those of its body: those of its shape, then its own. Names are in lower case. */
export function errorHeadersIn(
  shape: ErrorShape,
  name: ErrorName,
  { headers }: ErrorDetail = {},
): Readonly<Record<string, string>> {
  return {
    // It depends on the key, or on the moment.
    'cache-control': 'no-store',
    ...(ERRORS[name].status === 401 ? { 'www-authenticate': 'Bearer realm="tallygate"' } : {}),
    ...(shape === 'aws' ? { 'x-amzn-errortype': awsTypeOf(name) } : {}),
    ...headers,
  }
}

const AWS_TYPES: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  401: 'UnrecognizedClientException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ValidationException',
  413: 'ValidationException',
  415: 'ValidationException',
  429: 'ThrottlingException',
  431: 'ValidationException',
  500: 'InternalServerException',
  502: 'ServiceUnavailableException',
  503: 'ServiceUnavailableException',
  504: 'ModelTimeoutException',
}

/** The exception by which Bedrock's libraries know an error. */
export function awsTypeOf(name: ErrorName): string {
  if (name === 'budget_exceeded') return 'ServiceQuotaExceededException'
  return AWS_TYPES[ERRORS[name].status] ?? 'InternalServerException'
}
