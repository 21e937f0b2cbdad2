/** A call as the client makes it, and the provider's answer to it. */
export interface Exchange {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly contentType: string
  readonly body: string | null
  readonly answer: { readonly headers: Readonly<Record<string, string>>; readonly body: string | Buffer }
}

/** Why no call through a gateway asks this. */
export interface NotAsked {
  readonly why: string
}

const JSON_TYPE = 'application/json'

export function asJson(path: string, body: object, answer: object): Exchange {
  return {
    method: 'POST',
    path,
    contentType: JSON_TYPE,
    body: JSON.stringify(body),
    answer: { headers: { 'content-type': JSON_TYPE }, body: JSON.stringify(answer) },
  }
}
