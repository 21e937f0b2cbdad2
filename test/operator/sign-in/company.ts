import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { PUBLIC_URL, pathOf } from './browser.ts'

/** A company with a real identity provider. */
export interface Company {
  readonly issuer: string
  /** Signs a person in at the provider's own pages, and gives the path where that leads back to. */
  signIn(url: URL, person: string): Promise<string>
  close(): void
}

/** @param people Their groups, by name; a test may change them. Addresses are `NAME@example.com`. */
export async function startCompany(
  people: Readonly<Record<string, readonly string[]>>,
  publicUrl = PUBLIC_URL,
): Promise<Company> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'tallygate',
        client_secret: 'the-secret-of-the-client',
        redirect_uris: ['/sign-in/callback', '/portal/sign-in/callback'].map((path) => publicUrl + path),
        post_logout_redirect_uris: ['/dashboard', '/portal'].map((path) => publicUrl + path),
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
    pkce: { required: () => true },
    cookies: { keys: ['a key of the tests'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, groups: people[id] }),
    }),
  })
  server.on('request', provider.callback())
  return {
    issuer,
    signIn: signInAt,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function signInAt(url: URL, person: string): Promise<string> {
  const cookies = new Map<string, string>()
  let next = url
  let form: Record<string, string> | null = null
  for (let step = 0; step < 12; step += 1) {
    const answer: Response = await fetch(next, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === null ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split(/=(.*)/s)
      cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    if (location?.startsWith(PUBLIC_URL) === true) return pathOf(location)
    const page = await answer.text()
    form = null
    if (location !== null) next = new URL(location, next)
    else {
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? ''
      const action = /action="([^"]+)"/.exec(page)?.[1]
      if (action === undefined) throw new Error(`the provider says: ${page.slice(0, 500)}`)
      next = new URL(action, next)
      form = { prompt, login: person, password: 'any' }
    }
  }
  throw new Error('the provider leads nowhere')
}
