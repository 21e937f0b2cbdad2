/** Calls that named an unknown model are totalled under this. */
export const UNKNOWN_MODEL = '(unknown)'
/** Calls that named no model are totalled under this. */
export const NO_MODEL = '(none)'

/** A model's name in lower case, and where its revision begins: a date, `-latest`, `-preview`, a version. */
export interface ModelName {
  readonly text: string
  /** How much of `text` names the model itself; the rest says which revision of it. */
  readonly bareLength: number
  /** The same, of the revisions that cannot be a model of their own. At least `bareLength`. */
  readonly sureLength: number
}

/** No provider has a longer name, and reading one would cost time. */
const MAX_NAME_LENGTH = 256

const DAY = '(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12][0-9]|3[01])'
const DATE = `20[0-9]{2}-?${DAY}`
const MONTH = '(?:0[1-9]|1[0-2])-20[0-9]{2}'
const VERSION = '-v[0-9]{1,2}|:[0-9]{1,2}'

/**
 * Revisions, which may follow a model's name without making it another model, as a regular expression that JavaScript
 * and Postgres read alike. `@20250929` and `@default` are Vertex's, `-v1:0` and `:0` Bedrock's, `:20230824-v2` those of
 * OpenAI's completions. Four digits are a month and a day. Mistral's year and month (`-2411`) do not count as a date:
 * its models of one name have had different prices.
 */
export const REVISION_PATTERN = `(?:[-@](?:${DAY}|${MONTH}|latest|preview|default)|[-@:]${DATE}|${VERSION})+$`
const REVISION = new RegExp(REVISION_PATTERN)
/**
 * Those of them that are safe after a name that the catalog lists for itself. Hosts of open weights sell `-0813` at
 * another price than what it revises.
 */
const SURE_REVISION = new RegExp(`(?:[-@:]${DATE}|@(?:latest|default)|${VERSION})+$`)
/** `gemini-pro-latest` names whichever model is newest; `grok-4.3-latest` stays the same model. */
const LATEST_OF_VERSION = /(?<=[-.][0-9]{1,2}(?:-[a-z]+)*)-(?:latest|preview)$/
/** Google counts the revisions of a Gemini (`-001`); elsewhere three digits are another model (`davinci-002`). */
const GEMINI_REVISION = /^(?:[a-z-]+\/)?gemini-.*(-00[0-9])$/

/** `null`: no model has such a name. */
export function readModelName(name: string): ModelName | null {
  // `ft:gpt-4o-2024-08-06:acme::id`: the owner of a fine-tuned model does not change its price.
  const text = name
    .toLowerCase()
    .trim()
    .replace(/^(ft:[^:]+):.*/, '$1')
  if (text === '' || text.length > MAX_NAME_LENGTH) return null
  const whole = text.length - (GEMINI_REVISION.exec(text)?.[1]?.length ?? 0)
  const sureLength = SURE_REVISION.exec(text)?.index ?? LATEST_OF_VERSION.exec(text)?.index ?? whole
  const bareLength = Math.min(REVISION.exec(text)?.index ?? whole, sureLength)
  return { text, bareLength: bareLength || text.length, sureLength: sureLength || text.length }
}

/** Tells whether a pattern, which is a name or `prefix*`, is about a model. */
export function fitsPattern(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern
}

/** The version a name ends in (`-v2:0`: `2`); `null`: none. */
export function versionOf(name: string): string | null {
  return /-v([0-9]{1,2})(?::[0-9]{1,2})?$/.exec(name)?.[1] ?? null
}

/**
 * Tells whether two names are the same model: the same but for the revision, and for where it is found
 * (`models/`, `accounts/fireworks/models/`, `openai/`).
 */
export function isSameModel(one: string, other: string): boolean {
  const bare = bareName(one)
  return bare !== null && bare === bareName(other)
}

function bareName(name: string): string | null {
  const read = readModelName(name)
  if (read === null) return null
  const bare = read.text.slice(0, read.bareLength)
  return bare.slice(bare.lastIndexOf('/') + 1)
}
