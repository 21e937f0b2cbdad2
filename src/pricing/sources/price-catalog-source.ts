import { createHash } from 'node:crypto'
import type { BundledKind } from '#prices/bundled-lists.ts'
import type { UtcDay } from '../../domain/utc-day.ts'

/** Whose data a stored catalog holds, in whose form. */
export type PriceCatalogKind = BundledKind

/** The variable that names where the newest data of each is. */
export const PRICE_URLS = {
  'genai-prices': 'PRICES_URL',
  'models.dev': 'PRICES_MODELS_DEV_URL',
  litellm: 'PRICES_LITELLM_URL',
  azure: 'PRICES_AZURE_URL',
} as const

const HASH_DIGITS = 12

/** Hexadecimal, of the text's UTF-8. */
export function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/**
 * What prices and rules call a stored catalog: `genai-prices@2026-11-22.0123456789ab`. The day it was fetched is for
 * people; the hash of its text tells it apart.
 */
export function priceCatalogSource(kind: PriceCatalogKind, fetchedOn: UtcDay, text: string): string {
  return `${kind}@${fetchedOn}.${sha256Of(text).slice(0, HASH_DIGITS)}`
}

/** The day that {@link priceCatalogSource} has put into a source's name; `null`: it is named otherwise. */
export function dayInSource(source: string): UtcDay | null {
  return /@(20[0-9]{2}-[0-9]{2}-[0-9]{2})\./.exec(source)?.[1] ?? null
}
