/**
 * How much of its random or exhaustive work a test does: `short` in `npm test`, `long` in `npm run test:long`, which sets
 * TEST_LONG. A file that imports this runs in both.
 */
export function rounds<T = number>(work: { readonly short: T; readonly long: T }): T {
  return process.env.TEST_LONG === undefined ? work.short : work.long
}
