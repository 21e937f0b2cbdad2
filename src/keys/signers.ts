import { pepperId, signingSecret } from '../domain/api-key.ts'
import type { SigningSalt } from './key-records.ts'

interface Signer<Entry> {
  readonly entry: Entry
  readonly signing: SigningSalt
  /** Made at its first use; `null`: not yet. */
  secret: string | null
}

/** The keys that clients sign with, by their ids: few of all keys, so the others cost nothing. */
export class Signers<Entry extends { readonly keyId: string }> {
  readonly #peppers: ReadonlyMap<string, string>
  readonly #signers = new Map<string, Signer<Entry>>()

  /** @param peppers Those that secrets may be made with. */
  constructor(peppers: readonly string[]) {
    this.#peppers = new Map(peppers.map((pepper) => [pepperId(pepper), pepper]))
  }

  /** @param signing `null`: the key has no such secret, or the key is gone. */
  update(entry: Entry, signing: SigningSalt | null): void {
    const known = this.#signers.get(entry.keyId)
    if (signing === null) {
      if (known !== undefined) this.#signers.delete(entry.keyId)
    } else if (known?.entry !== entry || !known.signing.salt.equals(signing.salt)) {
      this.#signers.set(entry.keyId, { entry, signing, secret: null })
    }
  }

  /** `null`: no key of this id signs, or its pepper is not among those of this process. */
  find(keyId: string): Entry | null {
    const signer = this.#signers.get(keyId)
    return signer !== undefined && this.#peppers.has(signer.signing.pepperId) ? signer.entry : null
  }

  secretOf(keyId: string): string | null {
    const signer = this.#signers.get(keyId)
    if (signer === undefined) return null
    const { salt, pepperId: id } = signer.signing
    const pepper = this.#peppers.get(id)
    if (pepper === undefined) return null
    signer.secret ??= signingSecret(keyId, salt, pepper)
    return signer.secret
  }
}
