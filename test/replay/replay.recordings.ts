import { expect, test } from 'vitest'
import { recordedCases } from '../support/replay/replay-cases.ts'
import { playGroups, unaskedOf } from './play-cases.ts'

const recorded = recordedCases()
const unasked = unaskedOf(recorded)
const [asRecorded, asUnasked] = playGroups(recorded, unasked)
const NOTHING = { inexact: [], changed: [] }

test('every recorded answer reaches the client byte for byte and its counts reach the record', () => {
  const { inexact, changed } = asRecorded.wrong()
  const [exact, identical] = [recorded.length - inexact.length, recorded.length - changed.length]
  console.log(`${recorded.length} recordings, ${exact} exact, ${identical} byte-identical`)
  expect({ inexact, changed }).toEqual(NOTHING)
})

test('a client that did not ask for usage gets the recorded stream less the usage event, counted alike', () => {
  console.log(`${unasked.length} recordings of clients that asked for usage`)
  expect(asUnasked.wrong()).toEqual(NOTHING)
})

test('the lines of each explained cost add up to it, at prices that stand in the list that they name', async () => {
  const { wrong, compared } = await asRecorded.explained()
  console.log(`${compared} prices of units were compared, ${wrong.length} lines are wrong`)
  expect(wrong).toEqual([])
})
