/** The texts of an error of the gateway's own. Its cause is written only to the log. */
export interface ErrorDefinition {
  readonly status: number
  readonly type: string
  /** For programs; `null` where the type says enough. */
  readonly code: string | null
  /** For the client: says what to do, and nothing about the inside of the gateway. */
  readonly message: string
}

/**
 * Every error that the gateway itself answers with. Each one is sent by some code and described in
 * /openapi.json.
 */
const TEXTS = {
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The request could not be understood.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'No API key, or not one of this gateway. Send it as "Authorization: Bearer tg_...".',
  },
  signature_does_not_match: {
    status: 403,
    type: 'authentication_error',
    message:
      'The signature is not that of this request and of the secret of this access key id. See that nothing between changes it.',
  },
  request_time_too_skewed: {
    status: 403,
    type: 'authentication_error',
    message: 'The request was signed more than 5 minutes from now: correct the clock, and sign it again.',
  },
  key_inactive: {
    status: 403,
    type: 'permission_error',
    message: 'This API key was revoked or has expired.',
  },
  client_disabled: {
    status: 403,
    type: 'permission_error',
    message: 'The client that this API key belongs to is disabled.',
  },
  model_not_allowed: {
    status: 403,
    type: 'permission_error',
    message: 'This API key may not use that model.',
  },
  model_unpriced: {
    status: 403,
    type: 'permission_error',
    message:
      'What this call costs cannot be said, as there is no price for it. A budget that holds for it takes priced calls only.',
  },
  role_required: {
    status: 403,
    type: 'permission_error',
    message: 'The role of this token does not allow that.',
  },
  too_many_guesses: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many wrong tokens or keys came from this address. Try again after the time in retry-after.',
  },
  path_not_allowed: {
    status: 403,
    type: 'permission_error',
    message: 'This path may not be used through this gateway.',
  },
  model_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'No upstream of this gateway serves that model.',
  },
  not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is nothing here.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'This path does not take that method. The header allow names those that it takes.',
  },
  request_timeout: {
    status: 408,
    type: 'invalid_request_error',
    message: 'The request took too long to arrive.',
  },
  conflict: {
    status: 409,
    type: 'invalid_request_error',
    message: 'What was asked for does not go with what is there.',
  },
  still_running: {
    status: 409,
    type: 'invalid_request_error',
    message: 'This still runs, and what it used is not known yet. Cancel it, or delete it once it has ended.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body is over the limit.',
  },
  unsupported_encoding: {
    status: 415,
    type: 'invalid_request_error',
    message:
      'The request body has a content coding that cannot be read here. Send it without content-encoding.',
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'A limit of this client is reached for now. Try again after the time in the retry-after header.',
  },
  concurrency: {
    status: 429,
    type: 'rate_limit_error',
    message:
      'Too many calls that this client left run on. Try again when some of them have ended: none of them is cut.',
  },
  budget_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'A budget of this client is spent. To try again does not help before its period ends.',
  },
  headers_too_large: {
    status: 431,
    type: 'invalid_request_error',
    message: 'The request headers are over the limit.',
  },
  internal_error: {
    status: 500,
    type: 'internal_error',
    message: 'The gateway failed. The call id in the x-tallygate-call-id header helps to find out why.',
  },
  upstream_unreachable: {
    status: 502,
    type: 'upstream_error',
    message: 'The upstream could not be reached, or broke off before it answered.',
  },
  upstream_credential_refused: {
    status: 502,
    type: 'upstream_error',
    message: "The gateway's own credential for this upstream was refused; tell the operator.",
  },
  upstream_credential_missing: {
    status: 502,
    type: 'upstream_error',
    message: 'The gateway has no valid credential of its own for this upstream now; tell the operator.',
  },
  upstream_timeout: {
    status: 504,
    type: 'upstream_error',
    message: 'The upstream did not answer in time.',
  },
  metering_unavailable: {
    status: 503,
    type: 'service_unavailable',
    message: 'Calls cannot be metered right now, so none is taken. Try again later.',
  },
  storage_unavailable: {
    status: 503,
    type: 'service_unavailable',
    message: 'A store that this answer needs cannot be reached. Try again later.',
  },
  query_timeout: {
    status: 504,
    type: 'service_unavailable',
    message: 'The answer took too long to work out. Ask for less: fewer days, or fewer groups.',
  },
  overloaded: {
    status: 503,
    type: 'service_unavailable',
    message: 'Too many large requests at once. Try again later.',
  },
} as const satisfies Readonly<Record<string, Omit<ErrorDefinition, 'code'>>>

export type ErrorName = keyof typeof TEXTS

export type ErrorStatus = (typeof TEXTS)[ErrorName]['status']

export const ERROR_NAMES = Object.keys(TEXTS) as readonly ErrorName[]

/** The same with their codes, which are their names. */
export const ERRORS = Object.fromEntries(
  ERROR_NAMES.map((name) => [name, { ...TEXTS[name], code: name === 'invalid_request' ? null : name }]),
) as Readonly<Record<ErrorName, ErrorDefinition & { readonly status: ErrorStatus }>>

/** Errors of the operator's and of the clients' page's listener, which no call is answered with. */
const OPERATORS_ONLY: readonly ErrorName[] = [
  'conflict',
  'method_not_allowed',
  'role_required',
  'too_many_guesses',
]

/** The errors that a call may be answered with. */
export const CALL_ERROR_NAMES = ERROR_NAMES.filter((name) => !OPERATORS_ONLY.includes(name))

/** One occurrence of an error adds this to its definition. */
export interface ErrorDetail {
  /** The name of the parameter at fault. */
  readonly param?: string | undefined
  /** In place of the definition's message. */
  readonly message?: string | undefined
  /** The command that helps; the command line says it behind the message. */
  readonly hint?: string | undefined
  /** Sent with the error, for example `retry-after`. Names are in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** In place of our own body: the one that the upstream itself would answer with. */
  readonly body?: object | undefined
}

/** Why a call is refused before it goes upstream. */
export interface CallRefusal {
  readonly error: ErrorName
  readonly detail?: ErrorDetail
  /** For the counts of refused calls, where the error alone says too little. */
  readonly reason?: string
  /** The limit that refused it. */
  readonly limitId?: string
}

/** Thrown in a handler to refuse the request: the error handler answers with it. `cause` is for the log. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly error: ErrorName
  readonly detail: ErrorDetail
  /** Read by Fastify. */
  readonly statusCode: number

  constructor(error: ErrorName, detail: ErrorDetail & { readonly cause?: unknown } = {}) {
    super(detail.message ?? ERRORS[error].message, 'cause' in detail ? { cause: detail.cause } : undefined)
    this.error = error
    this.detail = detail
    this.statusCode = ERRORS[error].status
  }
}
