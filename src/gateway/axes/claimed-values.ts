import type { Caller } from '../../call/call-ports.ts'
import type { AxesConfig } from '../../config/yaml/axes.ts'
import { claimAt, idText } from '../../domain/claims.ts'
import { cleanValue } from './clean-value.ts'

/** The values of a token's claims, each by the source that reads it; `undefined`: it has none that is read. */
export type ClaimedValues = (claims: Readonly<Record<string, unknown>>) => Caller['claimed']

/**
 * Finds what the claims of a token say for axes, once for all its calls: as it is kept, so at most 128 bytes of each.
 *
 * @returns `undefined`: no axis reads claims.
 */
export function claimedValues(axes: AxesConfig | undefined, pepper: string): ClaimedValues | undefined {
  const read = (axes?.list ?? []).flatMap(({ from, hash }) =>
    from.flatMap((source) => (source.kind === 'claim' ? [{ source, hashKey: hash ? pepper : null }] : [])),
  )
  if (read.length === 0) return undefined
  return (claims) => {
    const values = new Map<unknown, string>()
    for (const { source, hashKey } of read) {
      const said = textOf(claimAt(claims, source.path))
      const value = said === null ? null : cleanValue(said, hashKey)
      if (value !== null) values.set(source, value)
    }
    return values.size === 0 ? undefined : values
  }
}

/** A text, or a number as it is written. Of a list the only element: of several, one would be a choice. */
function textOf(claim: unknown): string | null {
  const [only, ...others] = [claim].flat()
  return others.length > 0 ? null : idText(only)
}
