import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** What seals a text: the first pepper; any of them opens one. */
export interface Seal {
  readonly peppers: readonly string[]
  /** What it is for: a text that was sealed for another purpose does not open. */
  readonly purpose: string
  /** What it belongs to, which has to be the same when it is opened. */
  readonly bound: Buffer
}

/**
 * A text that others carry, who can neither read nor change it: in base64url.
 *
 * @throws Without a pepper.
 */
export function sealText(text: string, { peppers, purpose, bound }: Seal): string {
  const [pepper] = peppers
  if (pepper === undefined) throw new Error('there is no secret to seal with')
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, secretOf(pepper, purpose), iv).setAAD(bound)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** The text that was sealed; `null`: it was not by us, or for something else. */
export function openText(sealed: string, { peppers, purpose, bound }: Seal): string | null {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length <= IV_BYTES + TAG_BYTES) return null
  for (const pepper of peppers) {
    try {
      const decipher = createDecipheriv(CIPHER, secretOf(pepper, purpose), bytes.subarray(0, IV_BYTES))
      decipher.setAAD(bound).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      const opened = [decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]
      return Buffer.concat(opened).toString('utf8')
    } catch {
      // Another pepper may have sealed it.
    }
  }
  return null
}

function secretOf(pepper: string, purpose: string): Buffer {
  return createHmac('sha256', pepper).update(purpose).digest()
}
