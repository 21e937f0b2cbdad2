// The gateway says so in the page itself: a request of its own would stand before the first figures.
const isOffered = () => document.getElementById('page')?.dataset.signIn !== undefined

/**
 * The way to the company's identity provider, where there is one.
 *
 * @param to Where the sign-in is, from the page.
 */
export function SignInLink({ to }: { readonly to: string }) {
  return isOffered() ? (
    <p>
      <a href={to}>Sign in with the company's account</a>
    </p>
  ) : null
}

/** The token of a sign-in that just ended here; `null`: there is none for this browser. */
export async function takeToken(path: string): Promise<string | null> {
  const response = await fetch(`${path}/token`, { method: 'POST', cache: 'no-store' })
  if (!response.ok) return null
  const { token }: { readonly token: string } = await response.json()
  return token
}

/**
 * Ends a sign-in, and leaves the provider, too. The gateway leaves a token that was typed in as it is.
 *
 * @param tokenName Under which this tab keeps it.
 */
export async function endSignIn(path: string, tokenName: string): Promise<void> {
  try {
    const token = sessionStorage.getItem(tokenName)
    if (token === null || !isOffered()) return
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${path}/end`, { method: 'POST', headers, credentials: 'omit' })
    const { url }: { readonly url?: string | null } = await response.json()
    if (typeof url === 'string') location.assign(url)
  } catch {
    // It ends by itself.
  }
}
