import { afterEach, expect, test } from 'vitest'
import type { Stage } from '../../../src/gateway/admission/admission.ts'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { buildOpenCall } from '../../../src/gateway/admission/open-call.ts'
import { openTwoDoors, type TwoDoors } from './two-doors.ts'

let doors: TwoDoors

afterEach(() => doors.close())

const MOST_BYTES = 512
const HOSTILE = `\0${'x'.repeat(4 * MOST_BYTES)}\ud800`

/** The thing with other values for some of its fields. */
function insteadOf<Thing extends object>(thing: Thing, others: Partial<Record<keyof Thing, unknown>>): Thing {
  return new Proxy(thing, {
    get: (target, name) => (name in others ? Reflect.get(others, name) : Reflect.get(target, name)),
  })
}

// A field that takes a text as it came would end in a dead letter, or fill the journal.
test('whatever a client writes into any header, texts of the record can be stored', async () => {
  const opened: object[] = []
  const open: Stage = (admission) => {
    const request = insteadOf(admission.request, { headers: new Proxy({}, { get: () => HOSTILE }) })
    opened.push(buildOpenCall(insteadOf(admission, { request }), 0))
    return null
  }
  const stages = buildStages()
  doors = await openTwoDoors({ ...stages, model: [...stages.model, open] })
  const body = JSON.stringify({ model: 'gpt-4o', input: 'hi' })
  await doors.knock('http', { body })
  expect(opened).toHaveLength(1)
  const texts = Object.entries(opened[0] ?? {}).filter(([, value]) => typeof value === 'string')
  const wrong = texts.filter(
    ([, text]) => Buffer.byteLength(text) > MOST_BYTES || text.includes('\0') || !text.isWellFormed(),
  )
  expect(wrong.map(([name]) => name)).toEqual([])
  expect(texts.length).toBeGreaterThan(5)
})
