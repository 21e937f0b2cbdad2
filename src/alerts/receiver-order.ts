import type { AlertFormat, AlertKind } from './alert-kinds.ts'

/** A receiver as an operator asks for it. */
export interface ReceiverOrder {
  readonly url: string
  readonly kinds: readonly AlertKind[]
  readonly format: AlertFormat
  /** Percent of a budget, ascending. */
  readonly thresholds: readonly number[]
  /** The name of the only client that it is about; `null`: all. */
  readonly client: string | null
  /** What signs the alerts; `null`: a random one is made. */
  readonly secret: string | null
}

export const MAX_URL_LENGTH = 2_000
/** What JSON schemas can say of a URL; whether its host can be one is known to `URL` alone. */
export const URL_FORM = /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#@\\\p{Cc}]+(?:[/?#][^\s\p{Cc}]*)?$/u
export const MAX_THRESHOLDS = 10
export const MAX_PERCENT = 1_000
/** 128 bits, if they were drawn as hex digits. */
export const SECRET_LENGTH = { least: 32, most: 200 }
export const SECRET = /^[\x21-\x7e]*$/

/** Why alerts cannot be sent to this URL; `null`: they can. Loopback and private addresses are an operator's choice. */
export function urlProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && (url.username !== '' || url.password !== ''))
    return 'must not have a user or password in it: alerts are signed instead'
  return url !== null && URL_FORM.test(text) && text.length <= MAX_URL_LENGTH
    ? null
    : 'must be an http or https URL'
}

export const THRESHOLDS_FORM = `1 to ${MAX_THRESHOLDS} whole percents from 1 to ${MAX_PERCENT}`

export const SECRET_FORM = `${SECRET_LENGTH.least} to ${SECRET_LENGTH.most} characters of ASCII without spaces`

/** The first kind that is about no client, where the order is about one; `null`: there is none. */
export function kindWithoutClient(
  { client, kinds }: ReceiverOrder,
  ofClients: readonly AlertKind[],
): AlertKind | null {
  return client === null ? null : (kinds.find((kind) => !ofClients.includes(kind)) ?? null)
}
