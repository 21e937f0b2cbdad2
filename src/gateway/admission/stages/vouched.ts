import { createHash, timingSafeEqual } from 'node:crypto'
import type { TrustedProxy } from '../../../config/yaml/identity-config.ts'
import { isName } from '../../../domain/names.ts'
import type { CallRefusal } from '../../../http/errors.ts'
import { certifiedBy } from '../../identity/client-certificate.ts'
import type { Stage } from '../admission.ts'

const SECRET = 'x-tallygate-proxy-secret'
const SUBJECT = 'x-tallygate-subject'
const CLIENT = 'x-tallygate-client'

/** A comma may stand for two lines that a proxy made into one: the first of them may be a client's own. */
const SUBJECT_FORM = /^[\x21-\x2b\x2d-\x7e]{1,256}$/
const CLIENT_FORM = /^[\x20-\x2b\x2d-\x7e]{1,128}$/

const WRONG_SECRET: CallRefusal = {
  error: 'invalid_api_key',
  reason: 'proxy_secret',
  detail: { message: 'The secret of the proxy in front is missing its one right value.' },
}
const NO_CERTIFICATE: CallRefusal = {
  error: 'invalid_api_key',
  reason: 'proxy_certificate',
  detail: { message: 'The connection does not have the certificate of the proxy in front.' },
}
const UNCLEAR: CallRefusal = {
  error: 'invalid_api_key',
  reason: 'proxy_headers',
  detail: { message: 'The proxy in front does not say who calls in the one way that is taken.' },
}

/**
 * Reads whom the operator's own proxy vouches for. Its headers say nothing without its secret, its certificate, or both,
 * as it is configured, and none of them goes upstream. A request without a subject needs a key, as others do.
 */
export function vouchedBy({ secrets, certificate, client: rule }: TrustedProxy): Stage {
  const digests = secrets?.map(digestOf) ?? null
  const isCertified = certificate === null ? null : certifiedBy(certificate.names)
  return function readVouched(admission) {
    const { rawHeaders, socket } = admission.request
    if (digests !== null) {
      const [secret, ...others] = valuesOf(rawHeaders, SECRET)
      if (secret === undefined) return null
      // All are compared, so the time says nothing of which one it was.
      const sent = digestOf(secret)
      const isRight = digests.filter((digest) => timingSafeEqual(digest, sent)).length > 0
      if (!isRight || others.length > 0) return WRONG_SECRET
    }
    const subjects = valuesOf(rawHeaders, SUBJECT)
    if (subjects.length === 0) return null
    if (isCertified?.(socket, admission.arrivedAtMs) === false)
      return digests === null ? null : NO_CERTIFICATE
    const clients = rule.kind === 'fixed' ? [rule.name] : valuesOf(rawHeaders, CLIENT)
    const [subject = ''] = subjects
    const [client = ''] = clients
    if (subjects.length > 1 || clients.length !== 1) return UNCLEAR
    if (!SUBJECT_FORM.test(subject) || !isName(client)) return UNCLEAR
    if (rule.kind === 'header' && !CLIENT_FORM.test(client)) return UNCLEAR
    admission.vouched = { subject, client }
    return null
  }
}

function valuesOf(rawHeaders: readonly string[], wanted: string): readonly string[] {
  const values: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length === wanted.length && name.toLowerCase() === wanted) values.push(rawHeaders[i + 1] ?? '')
  }
  return values
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
