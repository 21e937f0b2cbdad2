import { ERRORS, type ErrorDetail, type ErrorName, type ErrorStatus } from './errors.ts'

/**
 * How an error is written: as the API does that the client library is made for. `message` is Mistral's and Cohere's,
 * `aws` Bedrock's, `google` Gemini's and Vertex's, `json_rpc` that of MCP.
 */
export type ErrorShape = 'openai' | 'anthropic' | 'google' | 'aws' | 'ollama' | 'message' | 'xai' | 'json_rpc'

/** The first of the codes that JSON-RPC leaves to servers. */
const SERVER_ERROR = -32000

/** Libraries of AWS try a 429 again whatever it says; this one they do not. */
const SPENT_AT_AWS = 400

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

const AWS_TYPES: Readonly<Record<ErrorStatus, string>> = {
  400: 'ValidationException',
  401: 'UnrecognizedClientException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  405: 'ValidationException',
  408: 'ValidationException',
  409: 'ConflictException',
  413: 'ValidationException',
  415: 'ValidationException',
  429: 'ThrottlingException',
  431: 'ValidationException',
  500: 'InternalServerException',
  502: 'ServiceUnavailableException',
  503: 'ServiceUnavailableException',
  504: 'ModelTimeoutException',
}

/** Errors that AWS has a name of its own for. */
const AWS_NAMES: Partial<Record<ErrorName, string>> = {
  budget_exceeded: 'ServiceQuotaExceededException',
  request_time_too_skewed: 'RequestTimeTooSkewed',
  signature_does_not_match: 'SignatureDoesNotMatch',
}

/** The exception by which Bedrock's libraries know an error. */
export function awsTypeOf(name: ErrorName): string {
  return AWS_NAMES[name] ?? AWS_TYPES[ERRORS[name].status]
}

/** The JSON body of an error, as plain data, in the shape that the client library reads. */
export function errorBody(shape: ErrorShape, name: ErrorName, detail: ErrorDetail = {}): object {
  if (detail.body !== undefined) return detail.body
  const { type, code, message: defined } = ERRORS[name]
  const message = detail.message ?? defined
  const param = detail.param ?? null
  switch (shape) {
    case 'openai':
      return { error: { message, type, param, code } }
    case 'anthropic':
      return { type: 'error', error: { type, message } }
    case 'google':
      return googleBody(name, message, detail)
    case 'aws':
      return { message }
    case 'ollama':
      return { error: message }
    case 'message':
      return { object: 'error', message, type, param, code }
    case 'xai':
      return { code: code ?? type, error: message }
    case 'json_rpc':
      // It has no id, as the message may not have been read.
      return { jsonrpc: '2.0', error: { code: SERVER_ERROR, message, data: { type, code, param } } }
    default:
      return shape satisfies never
  }
}

const GOOGLE_STATUSES: Readonly<Record<ErrorStatus, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  431: 'INVALID_ARGUMENT',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

function googleBody(name: ErrorName, message: string, detail: ErrorDetail): object {
  const { status } = ERRORS[name]
  const reason = name.toUpperCase()
  const seconds = detail.headers?.['retry-after']
  const { param: field } = detail
  return {
    error: {
      code: status,
      message,
      status: GOOGLE_STATUSES[status],
      details: [
        { '@type': `${GOOGLE_RPC}.ErrorInfo`, reason, domain: 'tallygate' },
        ...(field === undefined
          ? []
          : [{ '@type': `${GOOGLE_RPC}.BadRequest`, fieldViolations: [{ field, description: message }] }]),
        // Libraries try again what is over a rate, and give up on a quota of a day.
        ...(name === 'budget_exceeded'
          ? [
              {
                '@type': `${GOOGLE_RPC}.QuotaFailure`,
                violations: [{ quotaId: 'TallygateBudgetPerDay', description: message }],
              },
            ]
          : seconds === undefined
            ? []
            : [{ '@type': `${GOOGLE_RPC}.RetryInfo`, retryDelay: `${seconds}s` }]),
      ],
    },
  }
}

const GOOGLE_RPC = 'type.googleapis.com/google.rpc'
