import type { ClaimPath } from '../../domain/claims.ts'

/**
 * A place where a call may say its value. `member`: the value there is JSON text, or Claude Code's older form of the
 * same, and its member of this name is meant; `null`: the value itself is.
 */
export type AxisSource =
  | { readonly kind: 'header'; readonly name: string; readonly member: string | null }
  /** A member of the header `baggage` of W3C. */
  | { readonly kind: 'baggage'; readonly name: string }
  /** A member of a JSON body, by the names that lead to it. */
  | { readonly kind: 'body'; readonly path: readonly string[]; readonly member: string | null }
  /** A claim of the token that the call came with. */
  | { readonly kind: 'claim'; readonly path: ClaimPath }
  /** Values fixed by the id of a key, or by the name of a client. */
  | { readonly kind: 'key' | 'client'; readonly values: ReadonlyMap<string, string> }

function header(name: string, member: string | null = null): AxisSource {
  return { kind: 'header', name, member }
}

function body(path: string, member: string | null = null): AxisSource {
  return { kind: 'body', path: path.split('.'), member }
}

/**
 * The places where programs say whom a call is for, and what it belongs to. Claude Code: `metadata.user_id`, since 2.1.78
 * JSON text, before that `user_…_account_…_session_…`; a header for the session since 2.1.86. Codex: its conversation.
 */
export const AXIS_PRESETS: Readonly<Record<string, readonly AxisSource[]>> = {
  'openai/user': [body('safety_identifier'), body('user')],
  'anthropic/user': [body('metadata.user_id')],
  'claude-code/user': [body('metadata.user_id', 'account_uuid'), body('metadata.user_id', 'device_id')],
  'claude-code/session': [header('x-claude-code-session-id'), body('metadata.user_id', 'session_id')],
  'codex/session': [header('session_id'), header('conversation_id'), body('prompt_cache_key')],
  'litellm/user': [
    header('x-litellm-customer-id'),
    header('x-litellm-end-user-id'),
    body('user'),
    body('litellm_metadata.user'),
    body('metadata.user_id'),
  ],
  'litellm/session': [
    header('x-litellm-session-id'),
    header('x-litellm-trace-id'),
    body('litellm_session_id'),
    body('litellm_trace_id'),
    body('metadata.session_id'),
  ],
  // All of them as one value: a call has one on each axis.
  'litellm/tags': [header('x-litellm-tags')],
  'helicone/user': [header('helicone-user-id')],
  'helicone/session': [header('helicone-session-id')],
  'portkey/user': [header('x-portkey-metadata', '_user')],
  'portkey/session': [header('x-portkey-trace-id')],
  'openrouter/app': [header('x-title'), header('http-referer')],
  'openrouter/user': [body('user')],
  'openrouter/session': [body('session_id'), header('x-session-id')],
}
