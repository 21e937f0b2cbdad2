/** A header, as the fields of answers are fixed: the answer has at least all that was counted by then, and may lack the rest. */
export const AS_OF = 'x-tallygate-as-of'

/** @param atMs milliseconds since 1970 */
export function asOf(atMs: number): Readonly<Record<string, string>> {
  return { [AS_OF]: new Date(atMs).toISOString() }
}
