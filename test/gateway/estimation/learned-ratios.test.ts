import { describe, expect, test } from 'vitest'
import {
  kindOfAnswer,
  kindOfPrompt,
  LearnedRatios,
  type RatioKey,
} from '../../../src/gateway/estimation/learning/learned-ratios.ts'

const key = (clientId: string, model = 'made-model'): RatioKey => ({ clientId, model, kind: 'tools' })

/** Numbers between -1 and 1 that repeat. */
function noise(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 1_073_741_824 - 1
  }
}

function teach(ratios: LearnedRatios, clientId: string, ratio: number, calls: number, spread = 0): void {
  const next = noise(calls + clientId.length)
  for (let call = 0; call < calls; call++)
    ratios.add(key(clientId), 1_000, 1_000 * ratio * (1 + spread * next()))
}

describe('what reported calls say of estimates', () => {
  test('fifty calls bring an estimate that was half as much as the truth to within 5 %', () => {
    const ratios = new LearnedRatios()
    expect(ratios.correct(key('a'), 1_000)).toBe(1_000)
    teach(ratios, 'a', 1.9, 50, 0.1)
    expect(ratios.correct(key('a'), 1_000)).toBe(Math.round(1_000 * ratios.ratioOf(key('a'))))
    expect(Math.abs(ratios.ratioOf(key('a')) / 1.9 - 1)).toBeLessThan(0.05)
    expect(ratios.ratioOf(key('a', 'another-model'))).toBe(1)
    // Of the same family: `made`.
    expect(ratios.ratioOf(key('a', 'made-model-2')) / ratios.ratioOf(key('a'))).toBeGreaterThan(0.95)
    expect(ratios.ratioOf({ ...key('a'), kind: 'plain' })).toBe(1)
  })

  test('a client without calls of its own has what most others have, once three of them agree', () => {
    const ratios = new LearnedRatios()
    for (const client of ['a', 'b']) teach(ratios, client, 1.5, 20)
    ratios.take()
    expect(ratios.ratioOf(key('new'))).toBe(1)
    teach(ratios, 'c', 1.5, 20)
    ratios.take()
    expect(ratios.ratioOf(key('new'))).toBeCloseTo(1.5, 6)
  })

  test.each([
    0.001, 0.25, 4, 1_000,
  ])('a client that reports %s times the truth moves what another pays by less than 1 percent', (lie) => {
    const learn = (liesFrom: readonly string[]) => {
      const ratios = new LearnedRatios()
      for (const client of ['a', 'b', 'c', 'd', 'e']) teach(ratios, client, 1.5, 50, 0.05)
      for (const client of liesFrom) teach(ratios, client, lie, 5_000)
      ratios.take()
      return ratios
    }
    const honest = learn([])
    const deceived = learn(['liar'])
    for (const client of ['a', 'b', 'e', 'new'])
      expect(Math.abs(deceived.ratioOf(key(client)) / honest.ratioOf(key(client)) - 1)).toBeLessThan(0.01)
    // Nor is it believed of itself beyond what a tokenizer can do.
    expect(deceived.ratioOf(key('liar'))).toBeGreaterThan(0.49)
    expect(deceived.ratioOf(key('liar'))).toBeLessThan(4.1)
  })

  test.each([
    ['two that agree', [1.5, 1.5]],
    ['three that differ', [1.4, 1.5, 1.6]],
    ['three that agree, and two others', [1.5, 1.5, 1.5, 1.6, 1.7]],
    ['seven that differ', [1.3, 1.4, 1.45, 1.5, 1.52, 1.6, 1.8]],
  ])('beside %s, a client that lies moves what is said of a new one by nothing', (_, honest) => {
    const ratioWith = (lies: readonly number[]) => {
      const ratios = new LearnedRatios()
      for (const [index, ratio] of [...honest, ...lies].entries()) teach(ratios, `c${index}`, ratio, 50)
      ratios.take()
      return ratios.ratioOf(key('new'))
    }
    for (const lie of [0.001, 0.5, 1, 2.5, 1_000]) expect(ratioWith([lie])).toBe(ratioWith([]))
  })

  test('of three clients a single liar counts for nothing', () => {
    const ratios = new LearnedRatios()
    for (const client of ['a', 'b', 'c']) teach(ratios, client, 1.5, 50)
    teach(ratios, 'liar', 900, 50)
    ratios.take()
    expect(ratios.ratioOf(key('new'))).toBeCloseTo(1.5, 6)
  })

  test('a client that names models without end drops nothing that another taught', () => {
    const ratios = new LearnedRatios()
    teach(ratios, 'a', 2, 50)
    const before = ratios.ratioOf(key('a'))
    for (let index = 0; index < 20_000; index++) ratios.add(key('liar', `m${index}`), 1_000, 4_000)
    expect(ratios.ratioOf(key('a'))).toBe(before)
    expect(ratios.ratioOf(key('liar', 'm0'))).toBeGreaterThan(1)
    const taken = ratios.take()
    expect(taken.filter(({ clientId }) => clientId === 'liar')).toHaveLength(500)
    ratios.replace(taken)
    expect(ratios.ratioOf(key('a'))).toBeCloseTo(before, 6)
  })

  test('what a process has not given yet outlives what all know', () => {
    const ratios = new LearnedRatios()
    teach(ratios, 'a', 2, 40)
    ratios.replace([{ ...key('a'), calls: 40, logRatio: Math.log(1) }])
    expect(ratios.ratioOf(key('a'))).toBeCloseTo(Math.SQRT2, 1)
    expect(ratios.take()).toEqual([
      { ...key('a'), calls: 40, logRatio: Math.log(2) },
      { ...key('a', '~made'), calls: 40, logRatio: Math.log(2) },
    ])
    expect(ratios.take()).toEqual([])
  })

  test('most calls are not measured, and never more than two at once', () => {
    const ratios = new LearnedRatios()
    expect([1, 2, 3].map(() => ratios.wants('a', 'm'))).toEqual([true, true, false])
    ratios.measured()
    ratios.measured()
    let wanted = 0
    for (let call = 0; call < 6_400; call++) {
      if (!ratios.wants('b', 'm')) continue
      wanted += 1
      ratios.measured()
    }
    expect(wanted).toBeLessThan(72)
  })

  test('later ones are measured for a minute every six hours, so that the thread that counts ends in between', () => {
    let nowMs = 0
    const ratios = new LearnedRatios(() => nowMs)
    const wantedOf = (calls: number) => {
      let wanted = 0
      for (let call = 0; call < calls; call++) {
        if (!ratios.wants('a', 'm')) continue
        wanted += 1
        ratios.measured()
      }
      return wanted
    }
    expect(wantedOf(64)).toBe(64)
    expect(wantedOf(10_240)).toBe(10)
    nowMs = 60_000
    expect(wantedOf(10_240)).toBe(0)
    nowMs = 6 * 3_600_000
    expect(wantedOf(10_240)).toBe(10)
  })

  test('counts that say nothing teach nothing', () => {
    const ratios = new LearnedRatios()
    for (const [estimated, reported] of [
      [0, 5],
      [5, 0],
      [Number.NaN, 1],
      [-1, 1],
    ] as const)
      ratios.add(key('a'), estimated, reported)
    expect(ratios.take()).toEqual([])
  })

  test('short prompts, of which templates are a large part, are learned apart', () => {
    expect([kindOfPrompt(true, 255), kindOfPrompt(true, 256)]).toEqual(['tools_short', 'tools'])
    expect([kindOfAnswer(false, 63), kindOfAnswer(true, 64)]).toEqual(['answer_short', 'tool_answer'])
    expect([kindOfPrompt(false, 1), kindOfPrompt(false, 9_999)]).toEqual(['plain_short', 'plain'])
  })
})
