import { afterAll, beforeAll, expect, test, vi } from 'vitest'

const FOLDER = new URL('../../src/operator/dashboard/', import.meta.url)

/** As much of an element as the page's script uses. */
class FakeElement {
  readonly style: Record<string, string> = {}
  readonly attributes: Record<string, string> = {}
  children: (FakeElement | string)[] = []

  setAttribute(name: string, value: string): void {
    this.attributes[name] = value
  }

  append(...children: (FakeElement | string)[]): void {
    this.children.push(...children)
  }

  replaceChildren(...children: (FakeElement | string)[]): void {
    this.children = children
  }

  get texts(): readonly string[] {
    return this.children.flatMap((child) => (typeof child === 'string' ? [child] : child.texts))
  }

  get bars(): readonly string[] {
    const own = this.style.width === undefined ? [] : [this.style.width]
    return [...own, ...this.children.flatMap((child) => (typeof child === 'string' ? [] : child.bars))]
  }
}

interface LimitsModule {
  drawBudgets(frame: FakeElement, limits: readonly object[]): void
  drawRefused(frame: FakeElement, refused: readonly object[]): void
}

let page: LimitsModule
let frame: FakeElement

beforeAll(async () => {
  vi.stubGlobal('document', { createElement: () => new FakeElement() })
  page = (await import(new URL('limits.js', FOLDER).href)) as LimitsModule
  frame = new FakeElement()
})

afterAll(() => vi.unstubAllGlobals())

const BUDGET = { kind: 'budget', key: null, model: null, per: 'month', soft: false, raised_to: null }

test('budgets are shown with what is left, in the order of the server', () => {
  page.drawBudgets(frame, [
    { ...BUDGET, client: 'over', per: 'day', limit: '2', spent_usd: '2.5', left_usd: '0' },
    { ...BUDGET, client: 'half', limit: '10', spent_usd: '5', left_usd: '5' },
    { ...BUDGET, client: 'raised', limit: '1', raised_to: '4', spent_usd: '1', left_usd: '3', model: 'gpt*' },
  ])
  expect(frame.texts).toEqual([
    ...['Budget', 'Spent', 'Left', 'Limit'],
    ...['over', 'spent', 'a day', '$2.50', '$0.00', '$2.00'],
    ...['half', 'a month', '$5.00', '$5.00', '$10.00'],
    ...['raised', 'a month · gpt*', '$1.00', '$3.00', '$4.00'],
  ])
  expect(frame.bars).toEqual(['100%', '50%', '25%'])
  page.drawBudgets(frame, [])
  expect(frame.texts).toEqual(['No client has a budget of its own.'])
})

test('refused calls are shown by client, most of them first, with the reasons', () => {
  page.drawRefused(frame, [
    { client: 'a', reason: 'requests', calls: 3 },
    { client: 'b', reason: 'budget', calls: 4 },
    { client: 'a', reason: 'model_not_allowed', calls: 2 },
    { client: '', reason: 'unknown_key', calls: 1 },
  ])
  expect(frame.texts).toEqual([
    ...['Client', 'Refused calls'],
    ...['a', '3 requests · 2 model not allowed', '5'],
    ...['b', '4 budget', '4'],
    ...['no known client', '1 unknown key', '1'],
  ])
})
