import { expect, test } from 'vitest'

const FOLDER = new URL('../../src/operator/dashboard/', import.meta.url)

interface Part {
  readonly name: string
  ask(): Promise<unknown>
  take(answer: unknown): void
}

interface Problem {
  readonly name: string
  readonly message: string
}

interface Rounds {
  begin(): void
  stop(): void
}

interface RoundsModule {
  createRounds(options: {
    listParts: () => Part[]
    ended: (problems: readonly Problem[]) => void
    refused: () => void
    isSeen: () => boolean
    setTimer: (run: () => void, waitMs: number) => number
  }): Rounds
  sentenceOf(problems: readonly Problem[]): string
}

const { createRounds, sentenceOf }: RoundsModule = await import(new URL('rounds.js', FOLDER).href)
const { NotSignedIn }: { NotSignedIn: new () => Error } = await import(new URL('api.js', FOLDER).href)

/** A page of these parts, whose timer is fired by hand. */
function open(names: readonly string[], answer: (name: string) => Promise<unknown>) {
  const taken: string[] = []
  const ends: (readonly Problem[])[] = []
  const waits: number[] = []
  let refusals = 0
  let fire = () => {}
  let asking = 0
  let mostAtOnce = 0
  const listParts = () =>
    names.map((name) => ({
      name,
      async ask() {
        asking += 1
        mostAtOnce = Math.max(mostAtOnce, asking)
        try {
          return await answer(name)
        } finally {
          asking -= 1
        }
      },
      take: () => taken.push(name),
    }))
  const rounds = createRounds({
    listParts,
    ended: (problems) => ends.push(problems),
    refused: () => {
      refusals += 1
    },
    isSeen: () => true,
    setTimer(run, waitMs) {
      waits.push(waitMs)
      fire = run
      return waits.length
    },
  })
  const ended = (count: number) => expect.poll(() => ends.length).toBe(count)
  return {
    rounds,
    taken,
    ends,
    waits,
    ended,
    fire: () => fire(),
    refusals: () => refusals,
    mostAtOnce: () => mostAtOnce,
  }
}

test('parts are asked for one at a time, and the next round waits for the last answer', async () => {
  const page = open(['a', 'b', 'c'], async (name) => name)
  page.rounds.begin()
  await page.ended(1)
  expect([page.taken, page.mostAtOnce(), page.waits]).toEqual([['a', 'b', 'c'], 1, [10_000]])
  page.fire()
  await page.ended(2)
  expect(page.taken).toHaveLength(6)
})

test('a part that fails is named, the others are shown, and the page asks ever less often until all answer', async () => {
  let isSlow = true
  const page = open(['a', 'b', 'c'], async (name) => {
    if (name === 'b' && isSlow) throw new Error('It took too long.')
  })
  page.rounds.begin()
  for (let round = 1; round <= 7; round += 1) {
    await page.ended(round)
    page.fire()
  }
  await page.ended(8)
  expect(page.ends[0]).toEqual([{ name: 'b', message: 'It took too long.' }])
  expect(page.taken.slice(0, 2)).toEqual(['a', 'c'])
  expect(page.waits.slice(0, 6)).toEqual([20_000, 40_000, 80_000, 160_000, 300_000, 300_000])
  isSlow = false
  page.fire()
  await page.ended(9)
  expect(page.waits.at(-1)).toBe(10_000)
})

test('a round that is asked for meanwhile begins with the answer under way, not beside it', async () => {
  const held = Promise.withResolvers<void>()
  const page = open(['a', 'b'], (name) => (name === 'a' ? held.promise : Promise.resolve()))
  page.rounds.begin()
  page.rounds.begin()
  page.rounds.begin()
  held.resolve()
  await page.ended(1)
  expect([page.taken, page.mostAtOnce()]).toEqual([['a', 'b'], 1])
})

test('a wrong token ends the round, and a page that is left asks no more', async () => {
  const wrong = open(['a', 'b'], async () => {
    throw new NotSignedIn()
  })
  wrong.rounds.begin()
  await expect.poll(wrong.refusals).toBe(1)
  expect([wrong.ends, wrong.waits]).toEqual([[], []])

  const held = Promise.withResolvers<void>()
  const left = open(['a'], () => held.promise)
  left.rounds.begin()
  left.rounds.stop()
  held.resolve()
  await held.promise
  await new Promise(setImmediate)
  expect([left.taken, left.ends, left.waits]).toEqual([[], [], []])
})

test('parts that failed alike are named together', () => {
  expect(sentenceOf([])).toBe('')
  expect(
    sentenceOf([
      { name: 'Usage', message: 'It took too long.' },
      { name: 'Ledger', message: 'A store is away.' },
      { name: 'Chart', message: 'It took too long.' },
    ]),
  ).toBe('Usage, Chart: It took too long. Ledger: A store is away. Trying again.')
})
