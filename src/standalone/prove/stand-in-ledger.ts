import { readFileSync } from 'node:fs'

/** The stand-in's account of the calls it was asked, by call number. */
export interface StandInLedger {
  /** How often each was asked. */
  readonly got: ReadonlyMap<number, number>
  /** The most output tokens that it reported of each before the end of its stream. */
  readonly reported: ReadonlyMap<number, number>
  /** Those whose final usage it sent. */
  readonly final: ReadonlySet<number>
  /** Places of the targets that answered each, of those that went by routes. */
  readonly by: ReadonlyMap<number, ReadonlySet<number>>
  /** Tokens and service time of those it answered whole. */
  readonly done: ReadonlyMap<
    number,
    { readonly input: number; readonly output: number; readonly serviceMs: number }
  >
}

export function readStandInLedger(file: string): StandInLedger {
  const got = new Map<number, number>()
  const reported = new Map<number, number>()
  const final = new Set<number>()
  const by = new Map<number, Set<number>>()
  const done = new Map<number, { input: number; output: number; serviceMs: number }>()
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [what, ...numbers] = line.split(' ')
    const [number = 0, input = 0, output = 0, serviceUs = 0] = numbers.map(Number)
    if (what === 'got') got.set(number, (got.get(number) ?? 0) + 1)
    if (what === 'told') reported.set(number, Math.max(reported.get(number) ?? 0, input))
    if (what === 'final') final.add(number)
    if (what === 'by') by.set(number, (by.get(number) ?? new Set()).add(input))
    if (what === 'done') done.set(number, { input, output, serviceMs: serviceUs / 1_000 })
  }
  return { got, reported, final, by, done }
}
