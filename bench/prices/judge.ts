import type { SourceName } from './listing.ts'
import type { Question } from './questions.ts'

/** What the gateway recorded of a question's call. */
export interface Answer {
  /** US dollars; `null`: unpriced, or something in it is. */
  readonly usd: number | null
  /** Why there is no cost, or which price was taken. */
  readonly reason: string
  /** The source that the price's definition names. */
  readonly source?: string
  /** Whether the counts are those that were sent. */
  readonly isCounted: boolean
}

export interface Verdict {
  readonly question: Question
  readonly answer: Answer
  readonly kind: 'right' | 'wrong' | 'unpriced'
  /** Sources that say the same of it, at least two; empty: one speaks alone, or none agrees with another. */
  readonly agreeing: readonly SourceName[]
  /** What is held to be right: what sources agree on, else the first that speaks. */
  readonly usd: number
  /** At another tier than standard, charged as if it were standard. */
  readonly isAtListPrice: boolean
  /** Sources speak of it and contradict each other. */
  readonly isDisputed: boolean
}

/** More than half a percent apart is another price. */
const TOLERANCE = 0.005

export function isSame(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b))
}

export function judge(question: Question, answer: Answer): Verdict {
  const said = [...question.said]
  const agreed = said.find(([, usd]) => said.filter(([, other]) => isSame(usd, other)).length > 1)
  const agreeing = agreed === undefined ? [] : said.filter(([, usd]) => isSame(usd, agreed[1]))
  const isDisputed = said.some(([, usd]) => said.some(([, other]) => !isSame(usd, other)))
  // Where nobody agrees, to be one of those that are said is all that can be asked.
  const held = agreed?.[1] ?? said.find(([, usd]) => isAt(answer, usd))?.[1] ?? said[0]?.[1] ?? 0
  const atList = [...question.saidAtList.values()]
  const isAtListPrice = question.tier !== '' && !isAt(answer, held) && atList.some((usd) => isAt(answer, usd))
  const isRight = isAt(answer, held) || isOfOtherHour(question, answer, held)
  const kind = answer.usd === null ? 'unpriced' : isRight ? 'right' : 'wrong'
  return {
    question,
    answer,
    kind,
    agreeing: agreeing.map(([source]) => source),
    usd: held,
    isAtListPrice,
    isDisputed,
  }
}

/** Sources that know no hours say the price of one of them; ours is the one of now. */
function isOfOtherHour({ saidByHour }: Question, answer: Answer, held: number): boolean {
  return saidByHour.some((usd) => isAt(answer, usd)) && saidByHour.some((usd) => isSame(usd, held))
}

function isAt({ usd }: Answer, other: number): boolean {
  return usd !== null && isSame(usd, other)
}
