import type { UtcDay } from '../utc-day.ts'
import type { Finding } from './finding.ts'
import type { ProcessState } from './process-state.ts'

/** What a condition is found at. `doctor` asks a server no more once something says that it is of no use. */
export type Place = 'postgres' | 'redis' | 'machine'

/** From where on something is too much: 10 `s`, 7 `days`, 50 `%`. */
export interface Threshold {
  readonly value: number
  readonly unit: 's' | 'days' | '%' | 'calls'
}

/** Something that receivers are to learn, once for each subject, period and threshold. */
export interface Occurrence {
  /** What it is about, for its kind. */
  readonly subject: string
  /** The first day of a budget's period, else the UTC day. */
  readonly period: UtcDay
  /** Percent of a budget; absent: 0. */
  readonly threshold?: number
  /** Absent: it is about no single client. */
  readonly clientId?: string
  readonly payload: AlertPayload
}

/**
 * What an alert says beside its id, kind and time. `message` is for people. The other fields depend on the kind and are
 * in docs/alerts.md. Amounts of money are exact decimals, as text.
 */
export type AlertPayload = { readonly message: string } & Readonly<Record<string, unknown>>

/** The UTC days that alerts are about: today, and yesterday as long as its calls come in. */
export interface WatchedDays {
  readonly fromDay: UtcDay
  readonly today: UtcDay
}

export type FindOccurrences<Ports> = (ports: Ports, days: WatchedDays) => Promise<readonly Occurrence[]>

interface AlertText {
  /** What `--on` names. It never changes its meaning. */
  readonly kind: string
  /** What makes such an alert, in the words of the API description and of the command line. */
  readonly meaning: string
  /** Tells whether it is about one client, so that a receiver of one client may ask for it. */
  readonly ofClient: boolean
}

/** An alert that workers look for. */
export interface WatchedAlert<Ports> extends AlertText {
  /**
   * `at once`: every two seconds, which is for one small query; `often`: four times a minute, as far as it takes one
   * part in twenty of the time; else once a minute.
   */
  readonly when: 'at once' | 'often' | 'each minute'
  /** Each is tried by itself: what one server does not answer, another may. */
  readonly finders: readonly [FindOccurrences<Ports>, ...FindOccurrences<Ports>[]]
}

/** An alert that a job of this name raises when it finds something. */
interface RaisedAlert extends AlertText {
  readonly raisedBy: string
}

/** The same of a UTC day, which is in the payload, too. */
export function dailyOccurrence(subject: string, day: UtcDay, payload: AlertPayload): Occurrence {
  return { subject, period: day, payload: { ...payload, day } }
}

/** What has happened, and what to do about it in the words of `doctor`, as the `message` of an alert. */
export function withRepair(what: string, mend: string): string {
  return `${what}. To do: ${mend}.`
}

export type Alert<Ports> = WatchedAlert<Ports> | RaisedAlert

/** A word of `degraded` in `/readyz`. */
export interface ReadinessItem {
  readonly item: string
  readonly lacks: (state: ProcessState) => boolean
  /** What to do about it, in a sentence; absent: the word says enough. */
  readonly advise?: (state: ProcessState) => string | null
}

/** A gauge of a gateway process that shows the condition. */
export interface StateGauge {
  readonly name: string
  readonly help: string
  /** How those of several processes become one. */
  readonly aggregator: 'max' | 'min' | 'first' | 'sum'
  /** NaN: not known. */
  readonly read: (state: ProcessState) => number
}

/** A rule for Prometheus: deploy/prometheus/rules.yml and docs/operations.md are made of them. */
export interface Rule {
  /** In CamelCase, without `Tallygate`. */
  readonly name: string
  readonly expr: string
  /** How long it has to hold; absent: not at all. */
  readonly for?: string
  readonly severity: 'page' | 'ticket'
  /** What has happened and what to do, for a person. */
  readonly summary: string
}

/**
 * Something that can be wrong, declared once, by the chapter that knows it. `doctor`, alerts, readiness, metrics, the
 * container check and Prometheus's rules are made of these declarations: none of them names one.
 */
export interface AnyCondition<Ports, AlertPorts> {
  /** The line of `doctor` where all is well. */
  readonly name: string
  readonly place: Place
  /** The worst that it can be. */
  readonly severity: Finding['state']
  readonly threshold?: Threshold
  /** What there is to say: one line at least where `doctor` shows it always. */
  readonly find?: (ports: Ports) => Promise<Finding | readonly Finding[]>
  /** The code of the log line that says it, too. */
  readonly event?: string
  readonly alert?: Alert<AlertPorts>
  readonly readiness?: ReadinessItem
  readonly gauges?: readonly StateGauge[]
  readonly rules?: readonly Rule[]
  /** A worker's container counts as ill while it finds something wrong. */
  readonly failsWorker?: (ports: AlertPorts) => Promise<Finding>
}
