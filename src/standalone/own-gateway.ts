import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

/** The status and body of one answer of the gateway that we started; null: it does not answer. */
export type Answer = { readonly status: number; readonly body: string } | null

const SILENCE_MS = 5_000

/** A GET to our own listener on this machine, whose certificate need not name it so. */
export async function getFromGateway(url: string, key: string | null = null): Promise<Answer> {
  const send = url.startsWith('https:') ? requestHttps : requestHttp
  return await new Promise((resolve) => {
    const request = send(url, {
      rejectUnauthorized: false,
      agent: false,
      timeout: SILENCE_MS,
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
    })
    request.once('error', () => resolve(null))
    request.once('timeout', () => request.destroy(new Error('silent')))
    request.once('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        body += text
      })
      response.once('error', () => resolve(null))
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
    request.end()
  })
}

/** The ids that `/v1/models` shows to this key; empty where it does not answer. */
export function modelIds(answer: Answer): string[] {
  if (answer?.status !== 200) return []
  const { data } = Object(JSON.parse(answer.body))
  return Array.isArray(data) ? data.map((model) => String(Object(model).id)) : []
}
