import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'

export const PUBLIC_URL = 'http://127.0.0.1:9'

/** The listener that a browser asks: in this process, or over the network. */
type Asked = (
  options: InjectOptions,
) => Promise<Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'body' | 'cookies'>>

/** A browser at a listener, the operator's unless said otherwise: it keeps cookies and follows nothing by itself. */
export class Browser {
  readonly #ask: Asked
  readonly #address: string
  readonly #path: string
  readonly cookies = new Map<string, string>()

  /** @param path Of its sign-in. */
  constructor(asked: FastifyInstance | Asked, address = '10.0.0.1', path = '/sign-in') {
    this.#ask = typeof asked === 'function' ? asked : (options) => asked.inject(options)
    this.#address = address
    this.#path = path
  }

  async get(url: string) {
    return await this.#send('GET', url)
  }

  async post(url: string, headers: Readonly<Record<string, string>> = {}) {
    return await this.#send('POST', url, headers)
  }

  /** Where the provider is asked to sign the person in. */
  async begin(): Promise<URL> {
    const { headers } = await this.get(this.#path)
    return new URL(String(headers.location))
  }

  /** The token that the page fetches; `null`: there is none for it. */
  async takeToken(): Promise<string | null> {
    const { statusCode, body } = await this.post(`${this.#path}/token`)
    return statusCode === 200 ? JSON.parse(body).token : null
  }

  async #send(method: 'GET' | 'POST', url: string, headers: Readonly<Record<string, string>> = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await this.#ask({
      method,
      url,
      remoteAddress: this.#address,
      headers: { ...headers, ...(cookie === '' ? {} : { cookie }) },
    })
    for (const { name, value } of answer.cookies) {
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return answer
  }
}

/** Where an answer leads at the listener itself. */
export function pathOf(location: unknown): string {
  return String(location).slice(PUBLIC_URL.length)
}
