import { NotSignedIn } from './api.js'

/** From the last answer of a round to the next round. */
const EVERY_MS = 10_000
/** The same after failures, each of which doubles it: a store that is slow is not helped by more requests. */
const LONGEST_MS = 300_000

/**
 * Asks for the parts of the page one after the other, so that the page takes one connection to Postgres at a
 * time. A part that fails leaves the others alone. A round waits for the end of the one before.
 *
 * @param {object} options
 * @param {() => { name: string, ask: () => Promise<unknown>, take: (answer: unknown) => void }[]} options.listParts
 * Asked for again at each round.
 * @param {(problems: { name: string, message: string }[]) => void} options.ended Called after each round.
 * @param {() => void} options.refused Called when the token is not the right one.
 * @param {() => boolean} options.isSeen Whether there is anybody to ask for.
 * @param {typeof setTimeout} [options.setTimer]
 */
export function createRounds({ listParts, ended, refused, isSeen, setTimer = setTimeout }) {
  let timer = 0
  let waitMs = EVERY_MS
  /** Of the newest round; an older one ends at its next answer. */
  let newest = 0
  let isUnderWay = false
  /** Whether rounds go on. */
  let isWanted = false

  async function run() {
    clearTimeout(timer)
    isUnderWay = true
    const round = newest
    const problems = []
    for (const { name, ask, take } of listParts()) {
      try {
        const answer = await ask()
        if (round !== newest) break
        take(answer)
      } catch (error) {
        if (round !== newest) break
        if (error instanceof NotSignedIn) {
          isUnderWay = false
          refused()
          return
        }
        problems.push({ name, message: messageOf(error) })
      }
    }
    isUnderWay = false
    if (round !== newest) {
      if (isWanted) run()
      return
    }
    waitMs = problems.length === 0 ? EVERY_MS : Math.min(waitMs * 2, LONGEST_MS)
    ended(problems)
    if (isSeen()) timer = setTimer(run, waitMs)
  }

  return {
    /** Begins a round now; one that is under way ends with the answer that it waits for. */
    begin() {
      newest += 1
      isWanted = true
      if (!isUnderWay) run()
    },
    stop() {
      newest += 1
      isWanted = false
      waitMs = EVERY_MS
      clearTimeout(timer)
    },
  }
}

/** What `fetch` throws has no words for people. */
function messageOf(error) {
  if (error.name === 'TimeoutError') return 'The gateway took too long.'
  return error instanceof TypeError ? 'The gateway does not answer.' : error.message
}

/**
 * Which parts failed and why; those that failed alike are named together.
 *
 * @param {{ name: string, message: string }[]} problems
 */
export function sentenceOf(problems) {
  if (problems.length === 0) return ''
  const named = new Map()
  for (const { name, message } of problems) named.set(message, [...(named.get(message) ?? []), name])
  const sentences = [...named].map(([message, names]) => `${names.join(', ')}: ${message}`)
  return `${sentences.join(' ')} Trying again.`
}
