import { afterEach, describe, expect, test } from 'vitest'
import type { Moment, Stage, Stages } from '../../../src/gateway/admission/admission.ts'
import { buildStages, MOMENTS } from '../../../src/gateway/admission/admit.ts'
import type { CallRefusal } from '../../../src/http/errors.ts'
import { limitsOf, MemoryLimiter, TOO_MANY } from '../limits/memory-limiter.ts'
import { exchange, type RawResponse, requestText } from '../raw-http.ts'
import { DOORS, type Door, OTHERS_RESPONSE, openTwoDoors, type Request, type TwoDoors } from './two-doors.ts'

let doors: TwoDoors

afterEach(() => doors.close())

const STAGES = buildStages()

const LATER: CallRefusal = {
  error: 'overloaded',
  detail: { message: 'Come back in seven seconds.', headers: { 'retry-after': '7' } },
}
const EMBED: Request = { body: '{"model":"gpt-4o","input":"hi"}' }

/** The stages of every call, with `stage` added to those of one moment. */
function withStage(moment: Moment, stage: Stage, place: 'first' | 'last' = 'last'): Stages {
  const others = STAGES[moment]
  return { ...STAGES, [moment]: place === 'first' ? [stage, ...others] : [...others, stage] }
}

/** What both doors have to say alike. */
function said({ status, lines, body }: RawResponse) {
  const headers = lines.slice(1).map((line) => line.toLowerCase())
  return {
    status,
    retryAfter: headers.find((line) => line.startsWith('retry-after:')) ?? null,
    isJson: headers.includes('content-type: application/json; charset=utf-8'),
    hasLength: headers.includes(`content-length: ${body.length}`),
    error: JSON.parse(body.toString()),
  }
}

test('stages run in this order', async () => {
  doors = await openTwoDoors()
  const names = MOMENTS.map((moment) => [moment, STAGES[moment].map(({ name }) => name)])
  expect(names).toEqual([
    ['arrival', ['checkFragment', 'checkHost']],
    ['caller', ['readCredential', 'findCaller', 'checkSignature']],
    [
      'head',
      [
        ...['readTarget', 'refuseOwnOperation', 'checkLedger', 'routeByHead', 'checkPath', 'checkUnattended'],
        'planBody',
      ],
    ],
    [
      'model',
      [
        ...[
          'checkSignedBody',
          'requireModelFirst',
          'routeByModel',
          'readTool',
          'readInnerRequest',
          'readPoll',
        ],
        ...['checkPath', 'readNames'],
        ...[
          'checkModel',
          'checkAnswerForm',
          'checkReach',
          'checkObjects',
          'checkUpstreamCredential',
          'checkEndedJobs',
        ],
        ...['readAxes', 'checkLimits'],
      ],
    ],
  ])
})

const ordered = MOMENTS.flatMap((moment) => [
  [moment, 'first', 'at once'] as const,
  [moment, 'last', 'at once'] as const,
  [moment, 'last', 'after a wait'] as const,
])

test.each(
  ordered,
)('a stage added to %s, %s, that refuses %s does so at both doors, before the journal', async (moment, place, when) => {
  const refuse: Stage = () =>
    when === 'at once' ? LATER : new Promise((resolve) => setImmediate(resolve, LATER))
  doors = await openTwoDoors(withStage(moment, refuse, place))
  const answers = await Promise.all(DOORS.map(async (door) => said(await doors.knock(door, EMBED))))
  expect(answers[0]).toEqual({
    status: 503,
    retryAfter: 'retry-after: 7',
    isJson: true,
    hasLength: true,
    error: {
      error: {
        message: 'Come back in seven seconds.',
        type: 'service_unavailable',
        param: null,
        code: 'overloaded',
      },
    },
  })
  expect(answers[1]).toEqual(answers[0])
  expect(doors.reached).toEqual([])
})

test.each(
  DOORS,
)('a call that all stages let pass is in the journal before it reaches the upstream (%s)', async (door) => {
  const waits: Stage = () => new Promise((resolve) => setImmediate(resolve, null))
  doors = await openTwoDoors(withStage('head', waits, 'first'))
  for (const key of ['good', 'asked for']) {
    doors.reached.length = 0
    expect((await doors.knock(door, { ...EMBED, key })).status).toBe(200)
    const line = door === 'http' ? 'POST /v1/embeddings' : 'GET /v1/embeddings'
    expect(doors.reached).toEqual(['journal', line])
  }
})

describe('refusals', () => {
  /** Their refusals are counted, as they know whose call it is. */
  const WITH_CLIENT = [
    ...['readTarget', 'checkLedger', 'routeByHead', 'checkPath', 'checkUnattended', 'checkModel'],
    ...['checkAnswerForm', 'checkObjects', 'checkLimits', 'openCall'],
  ]
  const INVALID = [400, 'invalid_request_error', null] as const
  type Refused = readonly [status: number, type: string, code: string | null]
  const refusals: [string, Request, Refused, journal?: TwoDoors['journal']][] = [
    ['checkFragment', { target: '/gw/v1/x#y' }, INVALID],
    ['checkHost', { host: false }, INVALID],
    ['readCredential', { key: null }, [401, 'authentication_error', 'invalid_api_key']],
    ['readCredential', { headers: ['Authorization: Bearer other'] }, INVALID],
    ['findCaller', { key: 'nobody' }, [401, 'authentication_error', 'invalid_api_key']],
    ['findCaller', { key: 'revoked' }, [403, 'permission_error', 'key_inactive']],
    ['findCaller', { key: 'disabled' }, [403, 'permission_error', 'client_disabled']],
    ['findCaller', { key: 'away' }, [503, 'service_unavailable', 'storage_unavailable']],
    ['readTarget', { target: '/gw/v1/../../admin' }, INVALID],
    ['readTarget', { target: '/gw/v1/x%3Fy' }, INVALID],
    ['readTarget', { target: '/elsewhere' }, [404, 'invalid_request_error', 'not_found']],
    ['checkLedger', {}, [503, 'service_unavailable', 'metering_unavailable'], 'full'],
    ['routeByHead', { target: '/gw/Other/v1/chat/completions' }, INVALID],
    ['checkPath', { target: '/gw/v1/denied', body: '{}' }, [403, 'permission_error', 'path_not_allowed']],
    ['checkUnattended', {}, [429, 'rate_limit_error', 'concurrency']],
    [
      'checkModel',
      { target: '/gw/v1/other', key: 'restricted', body: '{"model":"gpt-4o"}' },
      [403, 'permission_error', 'model_not_allowed'],
    ],
    ['checkAnswerForm', { target: '/gw/google/v1beta/openai/files?%66ields=a' }, INVALID],
    ['checkObjects', { target: `/gw/v1/responses/${OTHERS_RESPONSE}` }, [404, 'invalid_request_error', null]],
    ['checkLimits', { key: 'limited' }, [429, 'rate_limit_error', 'rate_limit_exceeded']],
    ['openCall', {}, [503, 'service_unavailable', 'metering_unavailable'], 'fails'],
  ]

  test.each(refusals)('%s refuses alike at both doors: %j', async (stage, request, refused, journal) => {
    const limiter = new MemoryLimiter()
    limiter.isLimited = request.key === 'limited'
    limiter.refusal = TOO_MANY
    doors = await openTwoDoors(STAGES, {}, limitsOf(limiter))
    doors.journal = journal ?? 'works'
    const { maxPerClient } = doors.unattended.limits
    if (stage === 'checkUnattended')
      for (let call = 0; call < maxPerClient; call += 1) doors.unattended.admit('c', null, () => {})
    const [http, webSocket] = await Promise.all(
      DOORS.map(async (door) => said(await doors.knock(door, { ...EMBED, ...request }))),
    )
    const { type, code } = http?.error.error ?? {}
    expect([http?.status, type, code]).toEqual(refused)
    expect(webSocket).toEqual(http)
    expect(doors.reached).toEqual(stage === 'openCall' ? ['journal', 'journal'] : [])
    const isCounted = WITH_CLIENT.includes(stage)
    const reason = stage === 'checkLimits' ? 'requests' : (code ?? doors.refused[0]?.slice(2))
    // Outside the base path there are no calls over HTTP, so the stages of calls do not run.
    if (request.target !== '/elsewhere')
      expect(doors.refused).toEqual(isCounted ? [`c ${reason}`, `c ${reason}`] : [])
  })

  test('every stage is tried above, but those that one door cannot meet', () => {
    const tried = new Set(refusals.map(([stage]) => stage))
    const others = MOMENTS.flatMap((moment) => STAGES[moment].map(({ name }) => name)).filter(
      (name) => !tried.has(name),
    )
    // Own operations have routes over HTTP, a handshake has no body and ends no job, and routeByModel, readPoll,
    // readInnerRequest and readAxes never refuse.
    // Signatures, tools and credentials that end have tests of their own.
    expect(others).toEqual([
      ...['checkSignature', 'refuseOwnOperation', 'planBody', 'checkSignedBody', 'requireModelFirst'],
      ...[
        'routeByModel',
        'readTool',
        'readInnerRequest',
        'readPoll',
        'readNames',
        'checkReach',
        'checkUpstreamCredential',
      ],
      ...['checkEndedJobs', 'readAxes'],
    ])
  })
})

test.each(
  DOORS,
)("the gateway's own operations pass the stages of their caller, and are not calls (%s)", async (door) => {
  doors = await openTwoDoors(withStage('head', () => LATER, 'first'))
  const own = { target: '/gw/v1/usage' }
  expect((await doors.knock(door, { ...own, key: 'revoked' })).status).toBe(403)
  expect((await doors.knock(door, own)).status).toBe(door === 'http' ? 200 : 503)
  await doors.close()
  doors = await openTwoDoors()
  expect((await doors.knock('websocket', own)).status).toBe(400)
})

test.each(
  DOORS,
)('a stage that throws, or asks what no stage before it has found, is answered with internal_error (%s)', async (door) => {
  const early: Stage = ({ route }) => (route === null ? LATER : null)
  const late: Stage = async () => {
    throw new Error('the store lied')
  }
  for (const [stage, moment] of [
    [early, 'caller'],
    [late, 'model'],
  ] as const) {
    doors = await openTwoDoors(withStage(moment, stage))
    expect(said(await doors.knock(door, EMBED)).error.error.code).toBe('internal_error')
    expect(doors.failures).toHaveLength(1)
    expect(doors.reached).toEqual([])
    if (moment === 'caller') await doors.close()
  }
})

interface Leaving {
  readonly missing?: number
  readonly journal?: TwoDoors['journal']
  readonly onLeft?: () => void
}

/** Has a client leave its call, of which a stage holds something, and waits for its release. */
async function releasesLeft(
  door: Door,
  stages: Stages,
  until: () => boolean,
  { missing = 0, journal = 'works', onLeft = () => {} }: Leaving = {},
) {
  let held = 0
  let released = 0
  const hold: Stage = (admission) => {
    held += 1
    admission.hold({ release: () => (released += 1) })
    return null
  }
  doors = await openTwoDoors({ ...stages, head: [hold, ...stages.head] })
  doors.journal = journal
  await doors.leave(door, EMBED, missing, () => held === 1 && until())
  onLeft()
  await expect.poll(() => released).toBe(1)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([held, released]).toEqual([1, 1])
}

describe.each(DOORS)('what a stage holds for a call is released once (%s)', (door) => {
  async function releases(stages: Stages, request: Request, journal: TwoDoors['journal'] = 'works') {
    let held = 0
    let released = 0
    const hold: Stage = (admission) => {
      held += 1
      admission.hold({ release: () => (released += 1) })
      admission.hold({ release: () => (released += 1) })
      return null
    }
    doors = await openTwoDoors({ ...stages, head: [...stages.head, hold] })
    doors.journal = journal
    const { status } = await doors.knock(door, request)
    await expect.poll(() => released).toBe(2)
    expect(held).toBe(1)
    return status
  }

  test('when the call has ended', async () => {
    expect(await releases(STAGES, EMBED)).toBe(200)
  })

  test('when a later stage refuses', async () => {
    expect(
      await releases(
        withStage('model', () => LATER),
        EMBED,
      ),
    ).toBe(503)
  })

  test('when the journal takes no record', async () => {
    expect(await releases(STAGES, EMBED, 'fails')).toBe(503)
  })

  test.each([
    'head',
    'model',
  ] as const)('when the client leaves while a stage of %s waits', async (moment) => {
    const { promise: left, resolve: onLeft } = Promise.withResolvers<void>()
    let isWaiting = false
    const wait: Stage = async () => {
      isWaiting = true
      await left
      return null
    }
    await releasesLeft(door, withStage(moment, wait), () => isWaiting, { onLeft })
    if (door === 'http') expect(doors.reached).toEqual([])
  })

  test('when the client leaves before the journal has its call', async () => {
    await releasesLeft(door, STAGES, () => doors.reached.includes('journal'), { journal: 'late' })
    expect(doors.reached).toEqual(['journal'])
  })
})

test('what a stage holds for a call is released once when the client leaves while it sends its body', async () => {
  await releasesLeft('http', STAGES, () => true, { missing: 5 })
  expect(doors.reached).toEqual([])
})

test.each([
  ['GET', [], 2],
  ['HEAD', [], 2],
  ['POST', ['Content-Length: 0'], 1],
  ['POST', ['Content-Length: 5'], 1],
  ['POST', ['Transfer-Encoding: chunked'], 1],
] as const)('a refused %s with the headers %j leaves its connection to %i requests', async (method, headers, answers) => {
  doors = await openTwoDoors()
  const request = requestText('/gw/v1/denied', ['Authorization: Bearer good', ...headers], method)
  const { bytes } = await exchange(doors.url, request.replace('Connection: close\r\n', '') + request)
  expect(bytes.toString().match(/HTTP\/1.1 403 /g)).toHaveLength(answers)
})
