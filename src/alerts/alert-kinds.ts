/** What an alert is about: a word that some condition declares (src/doctor/conditions.ts has all of them). */
export type AlertKind = string

/** Percent of a budget. */
export const DEFAULT_THRESHOLDS: readonly number[] = [50, 80, 100]

/** How the body of an alert is written: our own JSON, or a message for Slack. */
export const ALERT_FORMATS = ['generic', 'slack'] as const

export type AlertFormat = (typeof ALERT_FORMATS)[number]
