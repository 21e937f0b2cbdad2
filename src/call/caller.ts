/** The caller: a key that was found and is active, and the client it belongs to. */
export interface Caller {
  readonly clientId: string
  readonly clientName: string
  readonly keyId: string
  /** The key's label. */
  readonly keyName: string
  /** Model names or `prefix*` patterns this key may use; `null`: all. */
  readonly models: readonly string[] | null
}

/** What an API key turned out to be. `unavailable`: not known here, and the store that knows is away. */
export type CallerLookup =
  | { readonly kind: 'active'; readonly caller: Caller }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'key_inactive' }
  | { readonly kind: 'client_disabled' }
  | { readonly kind: 'unavailable' }
