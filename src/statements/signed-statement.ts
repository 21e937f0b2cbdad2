import {
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'

/** A statement that was closed: its text, and what holds it. */
export interface SignedText {
  /** Canonical JSON. */
  readonly document: string
  readonly sha256: Buffer
  /** Ed25519, of the UTF-8 of `document`. */
  readonly signature: Buffer
  /** 32 bytes. */
  readonly publicKey: Buffer
}

/** What comes before the 32 bytes of an Ed25519 key in PKCS #8 and in SPKI (RFC 8410). */
const PRIVATE_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_HEAD = Buffer.from('302a300506032b6570032100', 'hex')

/** The key stands nowhere: it is made of the pepper of keys, and changes with that. */
function privateKeyOf(pepper: string): KeyObject {
  const seed = Buffer.from(hkdfSync('sha256', pepper, '', 'tallygate statements', 32))
  return createPrivateKey({ key: Buffer.concat([PRIVATE_HEAD, seed]), format: 'der', type: 'pkcs8' })
}

/** The 32 bytes that statements signed under this pepper are checked by. */
export function publicKeyOf(pepper: string): Buffer {
  const spki = createPublicKey(privateKeyOf(pepper)).export({ format: 'der', type: 'spki' })
  return spki.subarray(PUBLIC_HEAD.length)
}

export function signText(document: string, pepper: string): SignedText {
  const bytes = Buffer.from(document)
  return {
    document,
    sha256: createHash('sha256').update(bytes).digest(),
    signature: sign(null, bytes, privateKeyOf(pepper)),
    publicKey: publicKeyOf(pepper),
  }
}

/** Whether the holder of this key signed the text. False too where the bytes make neither a key nor a signature. */
export function isSignedText({ document, signature, publicKey }: Omit<SignedText, 'sha256'>): boolean {
  if (publicKey.length !== 32) return false
  const key = createPublicKey({ key: Buffer.concat([PUBLIC_HEAD, publicKey]), format: 'der', type: 'spki' })
  return verify(null, Buffer.from(document), key, signature)
}
