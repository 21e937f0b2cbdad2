import { createHash } from 'node:crypto'
import type { Caller } from '../../call/call-ports.ts'

/** The key that asks. All that is answered is of it, or of its client. */
export interface AskingKey {
  readonly caller: Caller
  /** As it was sent; `null`: its client signed, and sent none. */
  readonly text: string | null
  /** What LiteLLM's programs name a key by: its SHA-256 in hex, or its id here where no key was sent. */
  readonly name: string
}

export function askingKey(caller: Caller, text: string | null): AskingKey {
  const name = text === null ? caller.keyId : createHash('sha256').update(text).digest('hex')
  return { caller, text, name }
}

/** An answer, or why there is none: one sentence about the parameter. */
export type CompatAnswer =
  | { readonly kind: 'answer'; readonly document: object; readonly isTruncated?: true }
  | { readonly kind: 'not_found' | 'invalid'; readonly param: string; readonly message: string }

const ABOUT_ITSELF = 'A key reads what is of itself and its client alone.'

/**
 * Refuses a parameter that names another key or client, whether it exists or not: an answer without it would be about
 * others than was asked. `null`: it names those that ask, or nothing.
 */
export function refuseOthers(query: URLSearchParams, { caller, text, name }: AskingKey): CompatAnswer | null {
  const own: readonly (readonly [param: string, names: readonly (string | null)[]])[] = [
    ['key', [text, name, caller.keyId]],
    ['api_key', [text, name, caller.keyId]],
    ['user_id', [caller.clientId, caller.clientName]],
  ]
  for (const [param, names] of own)
    if (query.getAll(param).some((value) => !names.includes(value)))
      return { kind: 'not_found', param, message: ABOUT_ITSELF }
  return null
}
