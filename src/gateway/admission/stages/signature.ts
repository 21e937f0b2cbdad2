import { createHash, type Hash } from 'node:crypto'
import type { CallRefusal } from '../../../http/errors.ts'
import { slicedWork, WHOLE_BYTES } from '../../../lib/sliced-work.ts'
import { EMPTY_HASH } from '../../sigv4/canonical-request.ts'
import { isTimely, readClaims, readSignature } from '../../sigv4/read-signature.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'
import { ReceivedSignature } from '../received-signature.ts'

const UNREADABLE: CallRefusal = {
  error: 'invalid_api_key',
  detail: {
    message:
      'The signature cannot be read. Sign with AWS4-HMAC-SHA256 and an access key id and secret of this gateway, or send a key as AWS_BEARER_TOKEN_BEDROCK.',
  },
}
const MISMATCH: CallRefusal = { error: 'signature_does_not_match' }
const SKEWED: CallRefusal = { error: 'request_time_too_skewed' }
const NO_BODY: CallRefusal = {
  error: 'signature_does_not_match',
  detail: { message: 'A signed request of this method has no body.' },
}

/** How libraries of AWS begin what they sign with. */
const SIGNED = /^AWS4-/i

/** Tells whether an `Authorization` header is a signature, and no token. */
export function isSigned(authorization: string): boolean {
  return SIGNED.test(authorization)
}

/** Reads a signed request as it came: what is changed later is not what was signed. */
export function takeSignature(admission: Admission, authorization: string): CallRefusal | null {
  const { request } = admission
  const signature = readSignature(authorization)
  if (signature === null) return UNREADABLE
  const received = { method: admission.method, target: targetOf(request), rawHeaders: request.rawHeaders }
  const claims = readClaims(received, signature)
  if (typeof claims === 'string') return { error: 'signature_does_not_match', detail: { message: claims } }
  admission.signature = new ReceivedSignature(received, signature, claims)
  return null
}

/** The router rewrites what the gateway answers itself, and keeps what came. */
function targetOf(request: Admission['request'] & { readonly originalUrl?: string }): string {
  return request.originalUrl ?? request.url ?? '/'
}

/**
 * Proves the signature of a request whose body's hash is known: it has none, or says it. Botocore's libraries sign
 * the hash and send it nowhere: there the body is awaited, and proves it.
 */
export function checkSignature(
  { signature, method, hasBody, webSocket, arrivedAtMs }: Admission,
  { signers }: Pick<AdmissionOptions, 'signers'>,
): CallRefusal | null {
  if (signature === null) return null
  if (!isTimely(signature.claims, arrivedAtMs)) return SKEWED
  // The gateway's own operations read no body, so none would be compared.
  if (hasBody && (webSocket || method === 'GET' || method === 'HEAD')) return NO_BODY
  const hash = signature.claims.payloadHash ?? (hasBody ? null : EMPTY_HASH)
  if (hash === null) return null
  const isRight = (hasBody || hash === EMPTY_HASH) && signature.prove(signers, hash)
  return isRight ? null : MISMATCH
}

/** Compares the body with what was signed. In slices, as bodies may be long. */
export function checkSignedBody(
  admission: Admission,
  { signers }: Pick<AdmissionOptions, 'signers'>,
): CallRefusal | null | Promise<CallRefusal | null> {
  const { signature, hasBody, body } = admission
  if (signature === null) return null
  if (!hasBody) return signature.isProven ? null : MISMATCH
  // Such a body is always held: see `planBody`.
  if (body.sent === null) throw new Error('the body of a signed request was not held')
  const judge = (hash: string): CallRefusal | null => {
    const { payloadHash } = signature.claims
    const isRight = signature.isProven ? hash === payloadHash : signature.prove(signers, hash)
    return isRight ? null : MISMATCH
  }
  const { sent } = body
  if (sent.length <= WHOLE_BYTES) return judge(createHash('sha256').update(sent).digest('hex'))
  return hashInSlices(admission.caller.clientId, sent).then(judge)
}

function hashInSlices(clientId: string, bytes: Buffer): Promise<string> {
  const hash: Hash = createHash('sha256')
  let at = 0
  return new Promise((resolve) => {
    slicedWork.run(clientId, (deadline) => {
      do {
        hash.update(bytes.subarray(at, at + WHOLE_BYTES))
        at += WHOLE_BYTES
        if (at >= bytes.length) {
          resolve(hash.digest('hex'))
          return true
        }
      } while (performance.now() < deadline)
      return false
    })
  })
}
