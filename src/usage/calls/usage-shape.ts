/** A text with its digits apart from the rest, which many calls have alike. */
export interface ShapedText {
  /** The text, each run of digits a `#`. */
  readonly shape: string
  /** The runs in their order, between commas. */
  readonly digits: string
}

/** Splits a usage object's text. `null`: it has a `#` of its own, so the two could not be put together again. */
export function usageShapeOf(text: string): ShapedText | null {
  if (text.includes('#')) return null
  const between = text.replace(/[^0-9]+/g, ',')
  return {
    shape: text.replace(/[0-9]+/g, '#'),
    digits: between.slice(between.startsWith(',') ? 1 : 0, between.endsWith(',') ? -1 : undefined),
  }
}
