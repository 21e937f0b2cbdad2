import { type ErrorName, GatewayError } from '../http/errors.ts'

/**
 * Refuses an operation.
 *
 * @param text What comes behind the parameter's name: `applies only to budgets`.
 * @param hint What the command line adds: `limits show lists them`.
 */
export function invalid(param: string, text: string, hint?: string): GatewayError {
  return refused('invalid_request', `${param} ${text}.`, param, hint)
}

/** @param message A sentence with its full stop. */
export function notFound(message: string, param?: string, hint?: string): GatewayError {
  return refused('not_found', message, param, hint)
}

/** What was asked for does not go with what is there. */
export function conflict(message: string, param?: string, hint?: string): GatewayError {
  return refused('conflict', message, param, hint)
}

export const CURSOR_RULE = 'must be that of an answer to the same query'

export function badCursor(): GatewayError {
  return invalid('cursor', CURSOR_RULE)
}

export function noClient(name: string): GatewayError {
  return notFound(`There is no client named ${name}.`, 'client', 'client list shows them')
}

function refused(error: ErrorName, message: string, param?: string, hint?: string): GatewayError {
  return new GatewayError(error, { message, param, hint })
}
