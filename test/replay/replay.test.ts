import { expect, test } from 'vitest'
import { madeCases } from '../support/replay/replay-cases.ts'
import { playGroups, unaskedOf } from './play-cases.ts'

const made = madeCases()
const unasked = unaskedOf(made)
const [asMade, asUnasked] = playGroups(made, unasked)
const NOTHING = { inexact: [], changed: [] }

test('every answer of our own fixtures reaches the client byte for byte and its counts reach the record', () => {
  expect(asMade.wrong()).toEqual(NOTHING)
})

test('a client that did not ask for usage gets the stream less the usage event, counted alike', () => {
  expect(unasked.length).toBeGreaterThan(0)
  expect(asUnasked.wrong()).toEqual(NOTHING)
})

test('the lines of each explained cost add up to it, at prices that stand in the list that they name', async () => {
  const { wrong, compared } = await asMade.explained()
  expect(wrong).toEqual([])
  expect(compared).toBeGreaterThan(0)
})
