import { createHash } from 'node:crypto'

/** The id of what these texts name, the same whenever they are: a UUID of version 8. */
export function hashedUuid(...names: readonly string[]): string {
  const hex = createHash('sha256').update(names.join('\0')).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}
