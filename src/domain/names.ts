/** What cannot be seen: it would move a cursor or change the direction of what is shown in terminals, logs and pages. */
const UNSEEN = String.raw`\p{C}\u2028\u2029`

/** The form of a name of a client or a label of a key: what can be seen, no spaces around it. */
export const NAME_FORM = new RegExp(`^[^\\s${UNSEEN}](?:[^${UNSEEN}]*[^\\s${UNSEEN}])?$`, 'u')

/** In characters. */
export const MAX_NAME_LENGTH = 128

/** Tells whether a text can be the name of a client or the label of a key. */
export function isName(text: string): boolean {
  return NAME_FORM.test(text) && [...text].length <= MAX_NAME_LENGTH
}

/** The form of a model pattern: an exact name, or a prefix followed by `*`. */
export const MODEL_PATTERN_FORM = /^(?:[^*\s\p{Cc}]+\*?|\*)$/u

/** The form of one model's exact name. */
export const MODEL_NAME_FORM = /^[^*\s\p{Cc}]+$/u

/** Tells whether a text is a model pattern. */
export function isModelPattern(text: string): boolean {
  return MODEL_PATTERN_FORM.test(text) && text.isWellFormed()
}
