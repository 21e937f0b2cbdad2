import type { FastifyInstance, LightMyRequestResponse } from 'fastify'

export const PUBLIC_URL = 'http://127.0.0.1:9'

/** A browser at the operator's listener: it keeps cookies and follows nothing by itself. */
export class Browser {
  readonly #app: FastifyInstance
  readonly #address: string
  readonly cookies = new Map<string, string>()

  constructor(app: FastifyInstance, address = '10.0.0.1') {
    this.#app = app
    this.#address = address
  }

  async get(url: string): Promise<LightMyRequestResponse> {
    return await this.#ask('GET', url)
  }

  async post(url: string, headers: Readonly<Record<string, string>> = {}): Promise<LightMyRequestResponse> {
    return await this.#ask('POST', url, headers)
  }

  /** Where the provider is asked to sign the person in. */
  async begin(): Promise<URL> {
    const { headers } = await this.get('/sign-in')
    return new URL(String(headers.location))
  }

  /** The token that the page fetches; `null`: there is none for it. */
  async takeToken(): Promise<string | null> {
    const { statusCode, body } = await this.post('/sign-in/token')
    return statusCode === 200 ? JSON.parse(body).token : null
  }

  async #ask(method: 'GET' | 'POST', url: string, headers: Readonly<Record<string, string>> = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await this.#app.inject({
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
