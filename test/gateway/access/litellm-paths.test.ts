import { expect, test } from 'vitest'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { LITELLM_HEALTH_PATHS, LITELLM_PATHS } from '../../../src/litellm/compat/own-paths.ts'
import { openTwoDoors } from '../admission/two-doors.ts'

test('without compat, paths of LiteLLM are those of any upstream, at both doors', async () => {
  const doors = await openTwoDoors()
  for (const path of [...LITELLM_PATHS, ...LITELLM_HEALTH_PATHS]) {
    doors.reached.length = 0
    await doors.knock('http', { target: `/gw${path}?key=x` })
    expect(doors.reached).toEqual(['journal', `GET ${path}?key=x`])
    await doors.knock('websocket', { target: `/gw${path}` })
    expect(doors.reached).toEqual(['journal', `GET ${path}?key=x`, 'journal', `GET ${path}`])
  }
  await doors.close()
})

test('with compat they are answered here in every spelling, need a key, and are no sessions', async () => {
  const doors = await openTwoDoors(buildStages(), { compat: 'litellm' })
  for (const path of LITELLM_PATHS) {
    for (const spelled of [
      path,
      path.toUpperCase(),
      `${path}/`,
      path.replace('/', '/./'),
      `/v1${path}`,
      `/v1/v1${path}`,
    ]) {
      const { status, body } = await doors.knock('http', { target: `/gw${spelled}?a=b` })
      expect([spelled, status, body.toString()]).toEqual([spelled, 200, JSON.stringify({ path })])
      expect((await doors.knock('websocket', { target: `/gw${spelled}` })).status).toBe(400)
    }
    expect((await doors.knock('http', { target: `/gw${path}`, key: 'unknown' })).status).toBe(401)
    expect((await doors.knock('http', { target: `/gw${path}`, key: 'revoked' })).status).toBe(403)
  }
  for (const path of LITELLM_HEALTH_PATHS) {
    expect((await doors.knock('http', { target: `/gw${path}`, key: null })).status).toBe(200)
    expect((await doors.knock('websocket', { target: `/gw${path}` })).status).toBe(400)
  }
  expect(doors.reached).toEqual([])
  // What writes is as it was.
  await doors.knock('http', { target: '/gw/key/info', body: '{}' })
  expect(doors.reached).toContain('POST /key/info')
  await doors.close()
})
