/** A service tier and the place that served it as one name, its parts in one order: `batch+data-zone-eu`. `null`: neither. */
export function joinPlace(service: string | null, place: string | null): string | null {
  if (service === null) return place
  return place === null ? service : joinParts([...service.split('+'), place])
}

/** The name of a tier with these parts. `null`: there are none. */
export function joinParts(parts: readonly string[]): string | null {
  return parts.length === 0 ? null : [...new Set(parts)].sort().join('+')
}
