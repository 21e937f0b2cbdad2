/** Types, maps and texts about them. Licenses stay. */
const ABOUT = /\.(?:map|[cm]?ts|tsbuildinfo|flow|md|markdown)$/i
const LICENSE = /licen[cs]e/i
/** Packages whose license stands in their README alone. */
const LICENSED_BY_README = ['pg-copy-streams', 'pg-types', 'pgpass']
/** At the top of a package: what its makers and its readers need. */
const FOR_PEOPLE = /^(?:tests?|__tests__|docs?|examples?|bench(?:marks?)?|\.github)(?:\/|$)/
/** The same code once more, for loaders of other kinds, and what only a feature that we lack loads. */
const NOT_LOADED = [
  /^bullmq\/dist\/esm(?:\/|$)/,
  /^luxon\/(?:src|build\/(?!node))/,
  /^yaml\/browser(?:\/|$)/,
  /^zod\/.*\.cjs$/,
  /^@opentelemetry\/(?!api\/).*\.cjs$/,
  /^@opentelemetry\/semantic-conventions\/dist\/(?:experimental|index-incubating)/,
  // A compiler for migrations in TypeScript: ours are SQL.
  /^jiti\/dist\/babel\.cjs$/,
  // Of each encoding it has a table in five forms. Estimates read two of `data`, the demo upstream one of `esm`.
  /^gpt-tokenizer\/(?:cjs|src)(?:\/|$)/,
  /^gpt-tokenizer\/data\/(?!(?:o200k|cl100k)_base\.tiktoken$)/,
  /^gpt-tokenizer\/esm\/(?:bpeRanks|encoding|model)\/(?!o200k_base)/,
]

/**
 * Tells of a file or folder in an installed package that none of our programs reads it.
 *
 * @param name the package's name
 * @param inside the path in the package, with slashes
 */
export function isUnread(name: string, inside: string): boolean {
  if (inside === 'README.md' && LICENSED_BY_README.includes(name)) return false
  if (ABOUT.test(inside)) return !LICENSE.test(inside)
  return FOR_PEOPLE.test(inside) || NOT_LOADED.some((files) => files.test(`${name}/${inside}`))
}
