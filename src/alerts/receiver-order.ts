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

const MAX_URL_LENGTH = 2_000
const MAX_THRESHOLDS = 10
const MAX_PERCENT = 1_000
/** 128 bits, if they were drawn as hex digits. */
const MIN_SECRET_LENGTH = 32
const MAX_SECRET_LENGTH = 200

/** Why alerts cannot be sent to this URL; `null`: they can. Loopback and private addresses are an operator's choice. */
export function urlProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol) || text.length > MAX_URL_LENGTH)
    return 'must be an http or https URL'
  if (url.username !== '' || url.password !== '')
    return 'must not have a user or password in it: alerts are signed instead'
  return null
}

export const THRESHOLDS_FORM = `1 to ${MAX_THRESHOLDS} whole percents from 1 to ${MAX_PERCENT}`

/** Thresholds in ascending order, each once; `null`: they are not {@link THRESHOLDS_FORM}. */
export function readThresholds(percents: readonly number[]): readonly number[] | null {
  const sorted = [...new Set(percents)].sort((a, b) => a - b)
  const isFine = sorted.every((one) => Number.isInteger(one) && one >= 1 && one <= MAX_PERCENT)
  return isFine && sorted.length >= 1 && sorted.length <= MAX_THRESHOLDS ? sorted : null
}

export const SECRET_FORM = `${MIN_SECRET_LENGTH} to ${MAX_SECRET_LENGTH} characters of ASCII without spaces`

export function isAlertSecret(text: string): boolean {
  return text.length >= MIN_SECRET_LENGTH && text.length <= MAX_SECRET_LENGTH && /^[\x21-\x7e]+$/.test(text)
}

/** The first kind that is about no client, where the order is about one; `null`: there is none. */
export function kindWithoutClient(
  { client, kinds }: ReceiverOrder,
  ofClients: readonly AlertKind[],
): AlertKind | null {
  return client === null ? null : (kinds.find((kind) => !ofClients.includes(kind)) ?? null)
}
