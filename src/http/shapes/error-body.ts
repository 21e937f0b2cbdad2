import { ERRORS, type ErrorDetail, type ErrorName } from '../errors.ts'
import type { ErrorShape } from './error-shape.ts'

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
    default:
      return shape satisfies never
  }
}

const GOOGLE_STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
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
      status: GOOGLE_STATUSES[status] ?? 'UNKNOWN',
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
