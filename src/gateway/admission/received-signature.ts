import type { CallerLookup } from '../../call/call-ports.ts'
import type { ReceivedRequest, Signature, SignedClaims } from '../sigv4/read-signature.ts'
import { isSignedWith } from '../sigv4/read-signature.ts'

/** The keys whose clients sign, as stages ask for them. */
export interface SignerLookup {
  /** Synchronous for a known id. */
  findSigner(keyId: string): CallerLookup | Promise<CallerLookup>
  /** Whether `proves` holds for the secret of the key. */
  provesSigner(keyId: string, proves: (secret: string) => boolean): boolean
}

/** The signature of one request, on its way to being proven. */
export class ReceivedSignature {
  readonly request: ReceivedRequest
  readonly signature: Signature
  readonly claims: SignedClaims
  /** Until then the caller is only who the request says. */
  isProven = false

  constructor(request: ReceivedRequest, signature: Signature, claims: SignedClaims) {
    this.request = request
    this.signature = signature
    this.claims = claims
  }

  /** Tells whether the request, with a body of this hash, was signed by its key's secret. */
  prove(signers: SignerLookup, payloadHash: string): boolean {
    const { request, signature, claims } = this
    this.isProven = signers.provesSigner(signature.accessKeyId, (secret) =>
      isSignedWith(secret, request, signature, claims, payloadHash),
    )
    return this.isProven
  }
}
