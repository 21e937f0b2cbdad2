import { expect, test } from 'vitest'
import { type Answer, Asker, NotSignedIn } from '../../pages/shared/asker.ts'

/** A page of these parts, whose timers are fired by hand. */
function open(names: readonly string[], answer: (name: string) => Promise<unknown>) {
  const asked: string[] = []
  const taken: string[] = []
  const failed: string[] = []
  const timers = new Map<number, { run: () => void; waitMs: number }>()
  const refusals: string[] = []
  let isSeen = true
  let asking = 0
  let mostAtOnce = 0
  const asker = new Asker({
    async ask(name): Promise<Answer> {
      asked.push(name)
      asking += 1
      mostAtOnce = Math.max(mostAtOnce, asking)
      try {
        return { data: await answer(name), next: null }
      } finally {
        asking -= 1
      }
    },
    refused: (problem) => refusals.push(problem),
    isSeen: () => isSeen,
    setTimer(run, waitMs) {
      timers.set(timers.size + 1, { run, waitMs })
      return timers.size
    },
  })
  const begin = (name: string) =>
    asker.open(name, 10_000, {
      take: () => taken.push(name),
      fail: (problem) => failed.push(`${name}: ${problem}`),
    })
  const closes = names.map(begin)
  return {
    ...{ asker, asked, taken, failed, refusals, closes, begin },
    mostAtOnce: () => mostAtOnce,
    waits: () => [...timers.values()].map(({ waitMs }) => waitMs),
    /** The timer that was set last. */
    fire: () => timers.get(timers.size)?.run(),
    hide: () => {
      isSeen = false
    },
  }
}

const until = (read: () => unknown) => expect.poll(read)

test('parts are asked for in their order, two at once, and each again after its answer', async () => {
  const page = open(['a', 'b', 'c', 'd'], async (name) => name)
  await until(() => page.waits().length).toBe(4)
  expect([page.asked, page.taken, page.mostAtOnce()]).toEqual([['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd'], 2])
  expect(new Set(page.waits())).toEqual(new Set([10_000]))
  page.fire()
  await until(() => page.taken).toEqual(['a', 'b', 'c', 'd', 'd'])
})

test('until the first part is there, one other is asked for beside it', async () => {
  const first = Promise.withResolvers<void>()
  const page = open(['a', 'b', 'c', 'd'], (name) => (name === 'a' ? first.promise : Promise.resolve()))
  await until(() => page.taken).toEqual(['b'])
  await Promise.resolve()
  expect(page.asked).toEqual(['a', 'b'])
  first.resolve()
  await until(() => page.taken).toEqual(['b', 'a', 'c', 'd'])
})

test('a first part that is closed keeps no other waiting', async () => {
  const page = open(['a', 'b', 'c'], (name) => (name === 'a' ? new Promise(() => {}) : Promise.resolve()))
  await until(() => page.taken).toEqual(['b'])
  page.closes[0]?.()
  expect(page.asked).toEqual(['a', 'b', 'c'])
})

test('a part that fails says so alone, and is asked ever less often until it answers', async () => {
  let isSlow = true
  const page = open(['a'], async () => {
    if (isSlow) throw new Error('It took too long.')
  })
  for (let round = 1; round <= 7; round += 1) {
    await until(() => page.waits().length).toBe(round)
    page.fire()
  }
  await until(() => page.waits().length).toBe(8)
  expect(page.failed[0]).toBe('a: It took too long.')
  expect(page.waits().slice(0, 6)).toEqual([20_000, 40_000, 80_000, 160_000, 300_000, 300_000])
  isSlow = false
  page.fire()
  await until(() => page.taken).toEqual(['a'])
  await until(() => page.waits().at(-1)).toBe(10_000)
})

test('a part that hangs holds back no other', async () => {
  const held = Promise.withResolvers<void>()
  const page = open(['slow', 'b', 'c'], (name) => (name === 'slow' ? held.promise : Promise.resolve()))
  await until(() => page.taken).toEqual(['b', 'c'])
  held.resolve()
  await until(() => page.taken).toEqual(['b', 'c', 'slow'])
})

test('what was changed while a part was asked is asked for once more, at once', async () => {
  const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const page = open(['a'], () => held[page.asked.length - 1]?.promise ?? Promise.resolve())
  expect(page.asked).toEqual(['a'])
  page.asker.wake()
  page.asker.wake()
  expect(page.asked).toEqual(['a'])
  held[0]?.resolve()
  await until(() => page.asked).toEqual(['a', 'a'])
  expect(page.waits()).toEqual([])
  held[1]?.resolve()
  await until(() => page.waits()).toEqual([10_000])
  expect(page.asked).toEqual(['a', 'a'])
})

test('what is asked alike is asked once, however many parts show its answer', async () => {
  const page = open(['a', 'a'], async (name) => name)
  await until(() => page.taken).toEqual(['a', 'a'])
  page.begin('a')
  expect([page.taken, page.asked]).toEqual([['a', 'a', 'a'], ['a']])
})

test('a wrong token ends all of it, and a page that is left asks no more', async () => {
  const wrong = open(['a', 'b', 'c'], async () => {
    throw new NotSignedIn('no')
  })
  await until(() => wrong.refusals).toEqual(['no'])
  expect([wrong.waits(), wrong.taken]).toEqual([[], []])

  const held = Promise.withResolvers<void>()
  const left = open(['a'], () => held.promise)
  for (const close of left.closes) close()
  held.resolve()
  await held.promise
  await new Promise(setImmediate)
  expect([left.taken, left.waits()]).toEqual([[], []])

  const hidden = open(['a'], async () => 1)
  hidden.hide()
  await until(() => hidden.taken).toEqual(['a'])
  await new Promise(setImmediate)
  expect(hidden.waits()).toEqual([])
  hidden.asker.wake()
  await until(() => hidden.taken).toEqual(['a', 'a'])
})
