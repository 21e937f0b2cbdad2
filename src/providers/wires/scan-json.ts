import { asBuffer } from './elements.ts'
import { JsonScanner } from './json.ts'
import { readPlainJson } from './plain-json.ts'
import type { Extracted, Projection } from './plans/json-projection.ts'

/** A message of a session: its bytes, or what is wanted of one that is too large to be kept. */
export type SessionMessage = Uint8Array | Extracted

export function readMessage(message: SessionMessage, projection: Projection): Extracted {
  return message instanceof Uint8Array ? scanJson(message, projection) : message
}

/** Scans one whole document. */
export function scanJson(chunk: Uint8Array, projection: Projection): Extracted {
  const bytes = asBuffer(chunk)
  const plain = readPlainJson(bytes, projection)
  if (plain !== null) return plain.extracted
  const scanner = new JsonScanner(projection)
  scanner.push(bytes)
  scanner.end()
  return scanner.extracted
}

/** Whether a value stood there that was too long to be kept; see {@link Extracted}. */
export function isTooLong(value: unknown): boolean {
  return value === true
}
