import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { DOORS, openTwoDoors, type TwoDoors } from '../admission/two-doors.ts'
import { standIn, tokenOf } from './provider.ts'
import { TOKEN_ATTACKS } from './token-attacks.ts'

const SECRET = 'the-secret-of-this-test-long-enough'
const OTHER_SECRET = 'the-next-secret-of-this-test-as-long'

let doors: TwoDoors
const standin = standIn(Date.now)

beforeAll(async () => {
  const proxy = { secrets: [SECRET, OTHER_SECRET], certificate: null, client: { kind: 'header' } as const }
  doors = await openTwoDoors(buildStages(proxy), {}, null, [], [], {
    findCaller: (key) => standin.identities.find(key),
    findVouched: (subject, client) => standin.identities.findVouched(subject, client),
  })
})

afterAll(() => doors.close())

beforeEach(() => {
  doors.reached.length = 0
  doors.upstream.requests.length = 0
})

const SAYS_SO = `X-Tallygate-Proxy-Secret: ${SECRET}`
const ANN = 'X-Tallygate-Subject: ann'
const RESEARCH = 'X-Tallygate-Client: research'

test.each(DOORS)('a right token and right headers of the proxy are let in by %s', async (door) => {
  for (const headers of [
    [`Authorization: Bearer ${tokenOf(Date.now())}`],
    [`x-api-key: ${tokenOf(Date.now())}`],
    [SAYS_SO, ANN, RESEARCH],
    [`X-TALLYGATE-PROXY-SECRET: ${OTHER_SECRET}`, ANN, RESEARCH],
  ]) {
    doors.reached.length = 0
    await doors.knock(door, { key: null, headers, body: '{"model":"m"}' })
    expect([headers, doors.reached]).toEqual([
      headers,
      ['journal', expect.stringContaining('/v1/embeddings')],
    ])
  }
  const sent = doors.upstream.requests.flatMap(({ rawHeaders }) => rawHeaders).join('\n')
  expect(sent).not.toMatch(/eyJ|tallygate|research/i)
})

describe.each(DOORS)('by %s', (door) => {
  test.each(TOKEN_ATTACKS)('a token with $name is refused', async ({ make }) => {
    const token = make(Date.now())
    // What cannot be in a line of a request is tried below.
    const isLine = /^[\x21-\x7e]{1,60000}$/.test(token)
    if (isLine) {
      const answer = await doors.knock(door, { key: null, headers: [`Authorization: Bearer ${token}`] })
      expect([400, 401]).toContain(answer.status)
      expect(answer.body.toString()).not.toContain(token.slice(0, 100))
    }
    expect(['token_refused', 'unknown']).toContain((await standin.identities.find(token)).kind)
    expect(doors.reached).toEqual([])
  })

  test.each([
    ['no secret', [ANN, RESEARCH]],
    ['a wrong secret', [`X-Tallygate-Proxy-Secret: ${SECRET}x`, ANN, RESEARCH]],
    ['an empty secret', ['X-Tallygate-Proxy-Secret:', ANN, RESEARCH]],
    ['the secret in other letters', [SAYS_SO.replace('secret-of', 'SECRET-of'), ANN, RESEARCH]],
    ['both secrets as one', [`X-Tallygate-Proxy-Secret: ${SECRET},${OTHER_SECRET}`, ANN, RESEARCH]],
    ['a right secret behind a wrong one', ['X-Tallygate-Proxy-Secret: x', SAYS_SO, ANN, RESEARCH]],
    ['the right secret twice', [SAYS_SO, SAYS_SO, ANN, RESEARCH]],
    ['the secret under a name with underscores', [SAYS_SO.replaceAll('-', '_'), ANN, RESEARCH]],
    ['a subject under a name with underscores', [SAYS_SO, 'X_Tallygate_Subject: ann', RESEARCH]],
    ['two subjects', [SAYS_SO, 'X-Tallygate-Subject: boss', ANN, RESEARCH]],
    ['two subjects in other letters', [SAYS_SO, 'x-TALLYGATE-subject: boss', ANN, RESEARCH]],
    ['two subjects in one line', [SAYS_SO, 'X-Tallygate-Subject: boss, ann', RESEARCH]],
    ['two subjects in one line without a space', [SAYS_SO, 'X-Tallygate-Subject: boss,ann', RESEARCH]],
    ['an empty subject', [SAYS_SO, 'X-Tallygate-Subject:', RESEARCH]],
    ['a subject with a tab', [SAYS_SO, 'X-Tallygate-Subject: a\tnn', RESEARCH]],
    ['a long subject', [SAYS_SO, `X-Tallygate-Subject: ${'a'.repeat(300)}`, RESEARCH]],
    ['no client', [SAYS_SO, ANN]],
    ['two clients', [SAYS_SO, ANN, RESEARCH, 'X-Tallygate-Client: sales']],
    ['two clients in one line', [SAYS_SO, ANN, 'X-Tallygate-Client: research, sales']],
    ['an unknown client', [SAYS_SO, ANN, 'X-Tallygate-Client: board']],
    ['a client of bytes beyond ASCII', [SAYS_SO, ANN, 'X-Tallygate-Client: res\u00e9arch']],
    ['a subject that Connection names', ['Connection: x-tallygate-subject', ANN, RESEARCH]],
    ['headers of other proxies', ['X-Forwarded-User: ann', 'Remote-User: ann', 'X-Auth-Request-User: ann']],
    ['a secret in the query', [ANN, RESEARCH], `?x-tallygate-proxy-secret=${encodeURIComponent(SECRET)}`],
  ])('headers of a proxy with %s are refused', async (_, headers, query = '') => {
    const answer = await doors.knock(door, { key: null, headers, target: `/gw/v1/embeddings${query}` })
    expect([400, 401]).toContain(answer.status)
    expect(doors.reached).toEqual([])
  })
})

test('a header that only a proxy may send never goes upstream', async () => {
  const headers = [`Authorization: Bearer ${tokenOf(Date.now())}`, ANN, RESEARCH]
  expect((await doors.knock('http', { key: null, headers, body: '{"model":"m"}' })).status).toBe(200)
  expect(doors.upstream.requests[0]?.rawHeaders.join('\n')).not.toMatch(/tallygate/i)
})
