import { type Answer, NotSignedIn } from './asker.ts'

/** Longer than the gateway takes to answer that Postgres takes too long. */
const LIMIT_MS = 30_000
/** A repricing or a verification may read millions of calls. */
const LONG_MS = 900_000
/** Answers that are kept, to be asked whether they still hold. */
const KEPT = 60
const PRINTABLE = /^[\x21-\x7e]+$/

/** An API under a path, asked with a bearer token that this tab keeps until it is closed. */
export class Api {
  readonly #base: string
  readonly #tokenName: string
  /** In the frame of a page whose storage the browser withholds, in memory alone. */
  #token: string | null
  readonly #kept = new Map<string, Answer & { readonly etag: string }>()

  /** @param base `admin/v1`: from where the page is. */
  constructor(base: string, tokenName: string) {
    this.#base = base
    this.#tokenName = tokenName
    this.#token = withStorage((storage) => storage.getItem(tokenName))
  }

  get hasToken(): boolean {
    return this.#token !== null
  }

  /** @param token `null`: none any more; what was answered to it is dropped, too. */
  keepToken(token: string | null): void {
    this.#token = token
    this.#kept.clear()
    withStorage((storage) => {
      if (token === null) storage.removeItem(this.#tokenName)
      else storage.setItem(this.#tokenName, token)
    })
  }

  /**
   * A GET, of which only what changed comes over the wire.
   *
   * @throws {NotSignedIn}
   * @throws {Error} With the sentence of the gateway.
   */
  async read(url: string): Promise<Answer> {
    const kept = this.#kept.get(url)
    const response = await this.#send(url, {
      headers: kept === undefined ? {} : { 'if-none-match': kept.etag },
    })
    if (response.status === 304 && kept !== undefined) return kept
    const etag = response.headers.get('etag')
    const answer = { data: await response.json(), next: response.headers.get('x-tallygate-next-cursor') }
    this.#kept.delete(url)
    if (etag !== null) this.#kept.set(url, { ...answer, etag })
    if (this.#kept.size > KEPT) this.#kept.delete([...this.#kept.keys()][0] ?? '')
    return answer
  }

  /** Changes something, or does what takes long; `undefined` is sent without a body. */
  async change(method: string, url: string, body?: object): Promise<unknown> {
    const response = await this.#send(url, {
      method,
      signal: AbortSignal.timeout(LONG_MS),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    return response.status === 204 ? null : await response.json()
  }

  /** A GET of a file. */
  async file(url: string): Promise<Blob> {
    return await (await this.#send(url)).blob()
  }

  /** The token of another secret, which is not kept. */
  async exchange(url: string, secret: string): Promise<void> {
    if (!PRINTABLE.test(secret)) throw new NotSignedIn()
    const response = await this.#fetch(url, { method: 'POST' }, secret)
    const { token }: { readonly token: string } = await response.json()
    this.keepToken(token)
  }

  #send(url: string, options: RequestInit = {}): Promise<Response> {
    // What a header cannot hold cannot be a token either.
    if (this.#token === null || !PRINTABLE.test(this.#token)) throw new NotSignedIn()
    return this.#fetch(url, options, this.#token)
  }

  async #fetch(url: string, options: RequestInit, bearer: string): Promise<Response> {
    const response = await fetch(`${this.#base}/${url}`, {
      signal: AbortSignal.timeout(LIMIT_MS),
      ...options,
      headers: { ...options.headers, authorization: `Bearer ${bearer}` },
      cache: 'no-store',
      credentials: 'omit',
    })
    if (response.ok || response.status === 304) return response
    const { error }: { readonly error: { readonly message: string } } = await response.json()
    if (response.status === 401) throw new NotSignedIn(error.message)
    throw new Error(error.message)
  }
}

/** A page in the frame of another may have no storage. */
function withStorage<Result>(use: (storage: Storage) => Result): Result | null {
  try {
    return use(sessionStorage)
  } catch {
    return null
  }
}
