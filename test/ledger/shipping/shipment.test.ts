import { describe, expect, test } from 'vitest'
import {
  gapBefore,
  nextShipment,
  SHIP_WINDOW_BYTES,
  SHIP_WINDOW_ENTRIES,
  sentAfterCommit,
} from '../../../src/ledger/shipping/shipping-progress.ts'

const state = { prunedTo: 0, synced: 100, sent: 40, committedOffset: 30, hintedOffset: 0 }

describe('the next shipment', () => {
  test('the next shipment is what follows the last record that Redis has', () => {
    expect(nextShipment(state, 0, 500)).toEqual({ kind: 'records', after: 40, maxRows: 60 })
  })

  test('the next shipment never goes beyond what survives power loss', () => {
    expect(nextShipment({ ...state, synced: 41 }, 0, 500)).toEqual({ kind: 'records', after: 40, maxRows: 1 })
    expect(nextShipment({ ...state, synced: 40 }, 0, 500)).toEqual({ kind: 'nothing' })
  })

  test('the next shipment is at most a batch', () => {
    expect(nextShipment(state, 0, 8)).toEqual({ kind: 'records', after: 40, maxRows: 8 })
  })

  test('the next shipment waits for a commit when too many records are uncommitted', () => {
    const far = { ...state, sent: 30 + SHIP_WINDOW_ENTRIES, synced: 1_000_000 }
    expect(nextShipment(far, 0, 500)).toEqual({ kind: 'window' })
    expect(nextShipment({ ...far, committedOffset: 35 }, 0, 500)).toMatchObject({
      kind: 'records',
      maxRows: 5,
    })
    expect(nextShipment({ ...far, hintedOffset: 36 }, 0, 500)).toMatchObject({ kind: 'records', maxRows: 6 })
  })

  test('the next shipment does not believe a hint beyond what was sent', () => {
    const wild = { ...state, sent: 30 + SHIP_WINDOW_ENTRIES, synced: 1_000_000, hintedOffset: 10 ** 9 }
    expect(nextShipment(wild, 0, 500)).toMatchObject({ kind: 'records', maxRows: 500 })
  })

  test('the next shipment waits for a commit when too many bytes are uncommitted, but lets one record through', () => {
    expect(nextShipment(state, SHIP_WINDOW_BYTES, 500)).toEqual({ kind: 'window' })
    expect(nextShipment({ ...state, committedOffset: 40 }, SHIP_WINDOW_BYTES, 500)).toMatchObject({
      kind: 'records',
    })
  })

  test('the next shipment waits for the one before where the stream is crowded', () => {
    expect(nextShipment(state, 0, 500, true)).toEqual({ kind: 'window' })
    const counted = { kind: 'records', after: 40, maxRows: 60 }
    expect(nextShipment({ ...state, committedOffset: 40 }, 0, 500, true)).toEqual(counted)
    expect(nextShipment({ ...state, hintedOffset: 40 }, 0, 500, true)).toEqual(counted)
    expect(
      nextShipment({ ...state, prunedTo: 20, sent: 10, committedOffset: 9 }, 0, 500, true),
    ).toMatchObject({
      kind: 'gap',
    })
  })

  test('the next shipment is a gap marker where Postgres has lost what the journal no longer has', () => {
    expect(nextShipment({ ...state, prunedTo: 20, sent: 10, committedOffset: 10 }, 0, 500)).toEqual({
      kind: 'gap',
      from: 11,
      to: 20,
    })
  })
})

describe('what counts as sent', () => {
  test('what counts as sent is at least the committed offset', () => {
    expect(sentAfterCommit(40, 30, 35)).toBe(40)
    expect(sentAfterCommit(40, 30, 50)).toBe(50)
  })

  test('what counts as sent regresses with the committed offset', () => {
    expect(sentAfterCommit(40, 30, 29)).toBe(29)
  })
})

test('a gap reaches from the wanted record to the one before the next existing one', () => {
  expect(gapBefore(8, 7)).toBeNull()
  expect(gapBefore(12, 7)).toEqual({ from: 8, to: 11 })
})
