/** What one side has of a key, a model and a day. */
export interface ComparedFigures {
  readonly calls: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  readonly costPico: bigint
}

export interface Line extends ComparedFigures {
  /** The id of the key here, else what there is of it. */
  readonly key: string
  readonly day: string
  readonly model: string
}

/** Why two figures differ; the first that holds. */
export const CLASSES = ['same', 'missing_here', 'missing_there', 'calls', 'tokens', 'price'] as const

export type DifferenceClass = (typeof CLASSES)[number]

export interface ComparedLine {
  readonly key: string
  readonly day: string
  readonly model: string
  /** `null`: that side knows of no such call. */
  readonly theirs: ComparedFigures | null
  readonly ours: ComparedFigures | null
  readonly difference: DifferenceClass
}

/** A model under the name that both sides share: without the provider before it and the date of a revision behind it. */
export function sharedModel(model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1)
  return name.replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$/, '')
}

/**
 * Both sides line by line, by day, key and model.
 *
 * @param tolerance The part of a figure by which the other may differ and be the same: 0.01 is a hundredth.
 */
export function compareLines(
  theirs: readonly Line[],
  ours: readonly Line[],
  tolerance: number,
): readonly ComparedLine[] {
  const lines = new Map<
    string,
    { readonly line: Line; theirs: ComparedFigures | null; ours: ComparedFigures | null }
  >()
  for (const [side, all] of [
    ['theirs', theirs],
    ['ours', ours],
  ] as const)
    for (const one of all) {
      const line = { ...one, model: sharedModel(one.model) }
      const name = JSON.stringify([line.day, line.key, line.model])
      const known = lines.get(name) ?? { line, theirs: null, ours: null }
      known[side] = known[side] === null ? figuresOf(line) : sumOf([known[side], line])
      lines.set(name, known)
    }
  return [...lines]
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
    .map(([, { line, ...sides }]) => ({
      key: line.key,
      day: line.day,
      model: line.model,
      ...sides,
      difference: classOf(sides.theirs, sides.ours, tolerance),
    }))
}

export function sumOf(all: readonly ComparedFigures[]): ComparedFigures {
  const sum = { calls: 0n, inputTokens: 0n, outputTokens: 0n, costPico: 0n }
  for (const one of all) {
    sum.calls += one.calls
    sum.inputTokens += one.inputTokens
    sum.outputTokens += one.outputTokens
    sum.costPico += one.costPico
  }
  return sum
}

function figuresOf({ calls, inputTokens, outputTokens, costPico }: ComparedFigures): ComparedFigures {
  return { calls, inputTokens, outputTokens, costPico }
}

export function classOf(
  theirs: ComparedFigures | null,
  ours: ComparedFigures | null,
  tolerance: number,
): DifferenceClass {
  if (theirs === null) return ours === null ? 'same' : 'missing_there'
  if (ours === null) return 'missing_here'
  if (!isNear(theirs.calls, ours.calls, tolerance)) return 'calls'
  if (!isNear(theirs.inputTokens, ours.inputTokens, tolerance)) return 'tokens'
  if (!isNear(theirs.outputTokens, ours.outputTokens, tolerance)) return 'tokens'
  return isNear(theirs.costPico, ours.costPico, tolerance, FLOAT_PICO) ? 'same' : 'price'
}

/** LiteLLM's amounts are floats: so much is what adding them up can lose. */
const FLOAT_PICO = 1_000n

/** @param lost By how much large figures may differ in any case. */
function isNear(one: bigint, other: bigint, tolerance: number, lost = 0n): boolean {
  const difference = one > other ? one - other : other - one
  if (difference === 0n) return true
  const larger = one > other ? one : other
  if (larger > lost * lost && difference <= lost) return true
  return Number(difference) <= tolerance * Number(larger)
}
