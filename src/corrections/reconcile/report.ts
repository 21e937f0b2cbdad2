import type { UtcDay } from '../../domain/utc-day.ts'

/** What one side says of one model on one UTC day. `null`: it does not say. */
export interface Figures {
  readonly requests: bigint | null
  /** Cached ones included. */
  readonly inputTokens: bigint | null
  readonly outputTokens: bigint | null
  /** 1e-12 USD. */
  readonly costPico: bigint | null
}

export interface ModelDay extends Figures {
  readonly day: UtcDay
  /** The name of the model; of what is billed apart from models, what the bill calls it. */
  readonly model: string
}

/** Both sides of one model on one day. `null`: this side knows nothing of it. */
export interface ReconciledDay {
  readonly day: UtcDay
  readonly model: string
  readonly theirs: Figures | null
  readonly ours: Figures | null
}

/**
 * Puts both sides' figures beside each other, by day and model. Each side's parts of the same day and model
 * add up.
 */
export function reconcile(theirs: readonly ModelDay[], ours: readonly ModelDay[]): ReconciledDay[] {
  const sides = [addUp(theirs), addUp(ours)] as const
  const keys = [...new Set(sides.flatMap((side) => [...side.keys()]))].sort()
  return keys.map((key) => {
    const [day = '', model = ''] = key.split('\0')
    return { day, model, theirs: sides[0].get(key) ?? null, ours: sides[1].get(key) ?? null }
  })
}

function addUp(days: readonly ModelDay[]): Map<string, Figures> {
  const sums = new Map<string, Figures>()
  for (const { day, model, ...figures } of days) {
    const key = `${day}\0${model}`
    const known = sums.get(key)
    sums.set(key, known === undefined ? figures : addFigures(known, figures))
  }
  return sums
}

/** What one of them does not say is taken from the other. */
export function addFigures(a: Figures, b: Figures): Figures {
  return {
    requests: add(a.requests, b.requests),
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    costPico: add(a.costPico, b.costPico),
  }
}

function add(a: bigint | null, b: bigint | null): bigint | null {
  return a === null || b === null ? (a ?? b) : a + b
}

/**
 * Ours less theirs. Where one side does not know the model at all, it has 0; where it does not say a figure,
 * `null`.
 */
export function differenceOf({ theirs, ours }: ReconciledDay): Figures {
  const less = (pick: (figures: Figures) => bigint | null): bigint | null => {
    const left = ours === null ? 0n : pick(ours)
    const right = theirs === null ? 0n : pick(theirs)
    return left === null || right === null ? null : left - right
  }
  return {
    requests: less(({ requests }) => requests),
    inputTokens: less(({ inputTokens }) => inputTokens),
    outputTokens: less(({ outputTokens }) => outputTokens),
    costPico: less(({ costPico }) => costPico),
  }
}
