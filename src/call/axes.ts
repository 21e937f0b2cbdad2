/** The form of an axis's name. */
export const AXIS_NAME = /^[a-z][a-z0-9_-]{0,31}$/
/** At most so many are configured. */
export const MAX_AXES = 4

/** What calls without a value of an axis are shown under, and those beyond its values of a day. */
export const NO_VALUE = '(none)'
export const OTHER_VALUES = '(other)'
/** What corrections added to days whose calls are gone, and what is for no call. */
export const CORRECTED = '(corrected)'

/**
 * A call's value on an axis. `own`: it has totals. `other`: it came beyond the values of its day, and is totalled under
 * `(other)`. `call`: its axis has no totals, so the value stands in the single call alone.
 */
export interface AxisValue {
  readonly axis: string
  readonly value: string
  readonly totals: 'own' | 'other' | 'call'
}

const SIGNS = { own: '', other: '~', call: '-' } as const
const LINE = /^([-~]?)([a-z][a-z0-9_-]{0,31})=(.+)$/
const NAMED = '[-~]?[a-z][a-z0-9_-]{0,31}=[^\\n]*'
const ALL_NAMED = new RegExp(`^${NAMED}(?:\\n${NAMED}){0,${MAX_AXES - 1}}$`)
const NONE: readonly AxisValue[] = []

/** Values as records and `calls` have them: a line each. `undefined`: there are none. Values have no line breaks. */
export function axesText(values: readonly AxisValue[]): string | undefined {
  if (values.length === 0) return undefined
  return values.map(({ axis, value, totals }) => `${SIGNS[totals]}${axis}=${value}`).join('\n')
}

/** The values in such a text, each axis once. Lines of another form are left out. */
export function parseAxes(text: string | null | undefined): readonly AxisValue[] {
  if (text === null || text === undefined) return NONE
  const values = new Map<string, AxisValue>()
  for (const line of text.split('\n', MAX_AXES)) {
    const [, sign = '', axis, value] = LINE.exec(line) ?? []
    if (axis === undefined || value === undefined || values.has(axis)) continue
    values.set(axis, { axis, value, totals: sign === '~' ? 'other' : sign === '-' ? 'call' : 'own' })
  }
  return [...values.values()]
}

/** A text of axes with its values apart from the names, which many calls have alike. */
export interface ShapedAxes {
  /** The text, each line without its value. */
  readonly shape: string
  /** The values in their order, a line each. */
  readonly values: string
}

/** Splits what `axesText` gave. `axes_text` of Postgres puts it together again. `null`: the text is of another form. */
export function axesShapeOf(text: string): ShapedAxes | null {
  if (!ALL_NAMED.test(text)) return null
  return { shape: text.replace(/=[^\n]*/g, '='), values: text.replace(/(^|\n)[^=\n]*=/g, '$1') }
}
