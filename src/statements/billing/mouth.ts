/** How a system that gets sums of usage is configured, whatever its kind. */
export interface ReceiverSettings {
  readonly name: string
  /** Without a slash at its end. */
  readonly url: string
  /** What it knows us by, or what signs a webhook. It is never logged. */
  readonly secret: string
  /** How often sums are compared. */
  readonly everyMs: number
  readonly meters: readonly Meter[]
  /** Whether each model has sums of its own. */
  readonly byModel: boolean
  /** What an event says: what a sum changed by, or what it comes to, in place of the event before. */
  readonly sends: 'changes' | 'totals'
}

export interface Meter {
  /** A name of `MEASURES`. */
  readonly measure: string
  /** How the receiver names it. */
  readonly name: string
}

/** A change of one sum, on its way. */
export interface BillingEvent {
  /** The same at every attempt, and of no other event. */
  readonly id: string
  readonly meter: string
  /** `null`: of all models. */
  readonly model: string | null
  readonly day: string
  /** The client's name. */
  readonly client: string
  readonly customer: string
  readonly subscription: string | null
  /** 1 for the first of its sum, and one more for each that follows. */
  readonly sequence: number
  /** An exact decimal without an exponent; below 0: it takes back. */
  readonly change: string
  /** What the sum of the day comes to with it. */
  readonly total: string
  readonly at: Date
}

interface MouthRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How one kind of billing system is spoken to: a file each, listed in `MOUTHS`. */
export interface Mouth {
  /** Where it is for everybody; `null`: each has one of its own. */
  readonly url: string | null
  readonly eventsARequest: number
  /** How long it knows the id of an event again; `null`: for good. */
  readonly remembersMs: number | null
  /** How old the time of an event may be; `null`: as old as may be. */
  readonly oldestDays: number | null
  readonly takesFractions: boolean
  /** @param nowMs Milliseconds since 1970. */
  readonly request: (
    events: readonly BillingEvent[],
    receiver: ReceiverSettings,
    nowMs: number,
  ) => MouthRequest
  /** Whether a refusal of a single event says that it is there already. */
  readonly hasIt: (status: number, body: string) => boolean
}

/** What an event is worth to this receiver. */
export function sentValue(event: BillingEvent, { sends }: ReceiverSettings): string {
  return sends === 'totals' ? event.total : event.change
}
