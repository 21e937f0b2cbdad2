/** What receivers may ask for. A name never changes its meaning. */
export const ALERT_KINDS = [
  'budget',
  'unpriced',
  'unread',
  'costly_call',
  'gap',
  'dead_letters',
  'backlog',
  'journal',
  'books',
  'clock',
  'prices',
] as const

export type AlertKind = (typeof ALERT_KINDS)[number]

/** What makes an alert of each kind, in the words of the API description and of the command line. */
export const ALERT_MEANINGS: Readonly<Record<AlertKind, string>> = {
  budget: 'a client has spent a threshold of a budget',
  unpriced: 'calls without a price',
  unread: 'calls whose use could not be read',
  costly_call: 'a call that cost more than CALL_ALERT_USD',
  gap: 'records are missing',
  dead_letters: 'records could not be counted',
  backlog: 'records wait too long to be counted, or no worker runs',
  journal: 'the journal of a gateway is half full',
  clock: 'the clock of a gateway or worker differs from that of Postgres',
  books: 'totals differ from what they are made of',
  prices: 'newer prices are doubted or refused, or prices are 30 days old',
}

/** Those that are about one client, which a receiver of one client may ask for. */
export const KINDS_OF_CLIENTS: readonly AlertKind[] = ['budget', 'costly_call']

/** Percent of a budget. */
export const DEFAULT_THRESHOLDS: readonly number[] = [50, 80, 100]

export function isAlertKind(text: string): text is AlertKind {
  return ALERT_KINDS.some((kind) => kind === text)
}

/** How the body of an alert is written: our own JSON, or a message for Slack. */
export const ALERT_FORMATS = ['generic', 'slack'] as const

export type AlertFormat = (typeof ALERT_FORMATS)[number]
