import { asBuffer } from './elements.ts'
import { JsonScanner } from './json.ts'
import { readPlainJson } from './plain-json.ts'
import type { Extracted, Projection } from './plans/json-projection.ts'

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
