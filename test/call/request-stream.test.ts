import { expect, test } from 'vitest'
import { BodyBudget } from '../../src/call/request-stream.ts'

test('all clients together hold no more than the limit, and one of them no more than half', () => {
  const budget = new BodyBudget(100, 10)
  expect(budget.take('greedy', 50)).toBe(true)
  expect(budget.take('greedy', 1)).toBe(false)
  expect(budget.take('modest', 40)).toBe(true)
  expect(budget.take('late', 11)).toBe(false)
  expect(budget.take('late', 10)).toBe(true)
  expect(budget.heldBytes).toBe(100)
  budget.give('greedy', 20)
  expect(budget.take('greedy', 21)).toBe(false)
  expect(budget.take('late', 20)).toBe(true)
})

test('a body of the greatest length finds room where nothing else is held, however small the limit', () => {
  const budget = new BodyBudget(100, 300)
  expect(budget.take('only', 200)).toBe(true)
  expect(budget.take('only', 100)).toBe(true)
  expect(budget.take('other', 1)).toBe(false)
  budget.give('only', 300)
  expect(budget.heldBytes).toBe(0)
  expect(budget.take('other', 300)).toBe(true)
})
