import { afterEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { axesConfig, fileAxes } from '../../../src/config/yaml/axes.ts'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { buildOpenCall } from '../../../src/gateway/admission/open-call.ts'
import { DOORS, openTwoDoors, type TwoDoors } from '../admission/two-doors.ts'

let doors: TwoDoors

afterEach(() => doors.close())

const AXES = axesConfig(
  fileAxes.parse(
    parse(`[{ name: user, from: [{ body: metadata.user }, { client: { acme: fixed } }, { baggage: user }] },
            { name: run, totals: false, from: [{ header: host }] }]`),
  ),
)

test('a call is opened with its values at both doors, and without axes with none', async () => {
  const opened: (string | undefined)[] = []
  const stages = buildStages()
  const seen = {
    ...stages,
    model: [
      ...stages.model,
      (admission: Parameters<typeof buildOpenCall>[0]) => {
        opened.push(buildOpenCall(admission, 0).axes)
        return null
      },
    ],
  }
  const body = JSON.stringify({ model: 'gpt-4o', input: 'hi', metadata: { user: 'ann' } })
  doors = await openTwoDoors(seen, { axes: AXES })
  for (const door of DOORS) await doors.knock(door, { body })
  expect(opened).toEqual([
    expect.stringMatching(/^user=ann\n-run=\S+$/),
    expect.stringMatching(/^(user=\S+\n)?-run=\S+$/),
  ])
  await doors.close()
  opened.length = 0
  doors = await openTwoDoors(seen)
  for (const door of DOORS) await doors.knock(door, { body })
  expect(opened).toEqual([undefined, undefined])
})
