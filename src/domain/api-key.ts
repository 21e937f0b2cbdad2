import { createHash, createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { randomBase62, toBase62 } from './base62.ts'

const KEY_PREFIX = 'tg_'
const RANDOM_LENGTH = 30
const CHECK_LENGTH = 6
const SHAPE = /^tg_[0-9A-Za-z]{36}$/
const WITHIN = /tg_[0-9A-Za-z]{36}/g
/** Long enough that no name of a model is one. */
const FOREIGN_WITHIN = /(?<![0-9A-Za-z])sk-[\w-]{20,}/g

/**
 * A new secret key: `tg_`, 30 random base62 digits (178 bits), 6 base62 digits of the CRC-32 of all before them.
 * The checksum is what refuses typos and scans without asking a store.
 */
export function createKey(): string {
  return createSecret(KEY_PREFIX)
}

/** Who a token is for: an operator, a client's page, or that of a member who signed in. */
export type TokenKind = 'operator' | 'portal' | 'member'

const TOKEN_PREFIXES: Readonly<Record<TokenKind, string>> = {
  operator: 'tga_',
  portal: 'tgp_',
  member: 'tgm_',
}

/** A new token: as a key is, under a beginning of its own, so that neither can be taken for the other. */
export function createToken(kind: TokenKind): string {
  return createSecret(TOKEN_PREFIXES[kind])
}

/** Tells whether `text` could be a token of ours, as `isKeyShaped` does for keys. */
export function isTokenShaped(kind: TokenKind, text: string): boolean {
  const prefix = TOKEN_PREFIXES[kind]
  return text.startsWith(prefix) && SHAPE.test(KEY_PREFIX + text.slice(prefix.length)) && hasItsChecksum(text)
}

/** The part of a token that may be shown. */
export function tokenPrefix(token: string): string {
  return token.slice(0, TOKEN_PREFIXES.operator.length + 8)
}

function createSecret(prefix: string): string {
  const checked = prefix + randomBase62(RANDOM_LENGTH)
  return checked + checksum(checked)
}

/** Tells whether `text` could be a key of ours, by form and checksum. Says nothing of whether it exists. */
export function isKeyShaped(text: string): boolean {
  return SHAPE.test(text) && hasItsChecksum(text)
}

function hasItsChecksum(text: string): boolean {
  return text.endsWith(checksum(text.slice(0, -CHECK_LENGTH)))
}

/** The part of a key that is kept at rest: HMAC-SHA256 under the pepper, 32 bytes. */
export function hashKey(key: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest()
}

const FOREIGN_PREFIX = 'sk-'
/** Keys of other gateways are shorter. A longer text is not worth hashing. */
const MAX_FOREIGN_LENGTH = 512

/** Tells whether `text` could be a key that another gateway made. */
export function isForeignKeyShaped(text: string): boolean {
  return text.length <= MAX_FOREIGN_LENGTH && text.startsWith(FOREIGN_PREFIX)
}

/** The part of another gateway's key that is kept at rest, of the key itself: 32 bytes. */
export function hashForeignKey(key: string, pepper: string): Buffer {
  return hashKeyHash(createHash('sha256').update(key).digest('hex'), pepper)
}

/** The same, of the SHA-256 that the other gateway keeps, in 64 lower-case hex digits. */
export function hashKeyHash(sha256Hex: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(sha256Hex).digest()
}

/**
 * The secret that belongs to a key's id, for clients that sign: 43 characters. It stands nowhere, as the pepper and the
 * salt beside the key make it again.
 */
export function signingSecret(keyId: string, salt: Buffer, pepper: string): string {
  const made = createHmac('sha256', pepper).update(`tallygate signing secret ${keyId} `).update(salt)
  return made.digest('base64url')
}

/** Tells whether `text` could be the id of a key. */
export function isKeyIdShaped(text: string): boolean {
  return /^key_[0-9A-Za-z]{20}$/.test(text)
}

/** The part of a key that may be shown: the first 8 random digits. 131 secret bits remain. */
export function keyPrefix(key: string): string {
  return key.slice(0, KEY_PREFIX.length + 8)
}

/** `text` with every key in it redacted to its visible part, those of other gateways included. */
export function withoutKeys(text: string): string {
  const clean = text.includes(FOREIGN_PREFIX) ? text.replace(FOREIGN_WITHIN, `${FOREIGN_PREFIX}***`) : text
  if (!clean.includes(KEY_PREFIX)) return clean
  return clean.replace(WITHIN, (found) => (isKeyShaped(found) ? `${keyPrefix(found)}***` : found))
}

/** Identifies a pepper without revealing it, in the rows hashed with it: 16 hex digits. */
export function pepperId(pepper: string): string {
  return createHmac('sha256', pepper).update('tallygate pepper id').digest('hex').slice(0, 16)
}

function checksum(text: string): string {
  return toBase62(crc32(text), CHECK_LENGTH)
}
