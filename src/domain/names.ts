const MAX_NAME_LENGTH = 128

/**
 * Tells whether a text can be the name of a client or the label of a key: 1 to 128 characters that can be seen, no
 * spaces around it. What is shown in terminals, logs and pages must not move a cursor or change its direction.
 */
export function isName(text: string): boolean {
  return (
    text.length >= 1 &&
    text.length <= MAX_NAME_LENGTH &&
    text.isWellFormed() &&
    text.trim() === text &&
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}]/u.test(text)
  )
}

/** Tells whether a text is a model pattern: an exact name, or a prefix followed by `*`. */
export function isModelPattern(text: string): boolean {
  return /^[^*\s\p{Cc}]*\*?$/u.test(text) && text !== '' && text.isWellFormed()
}
