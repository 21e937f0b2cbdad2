/** Set beside a token that came of a sign-in: it is ended at the gateway, too. */
const SIGNED_IN = 'tallygate-signed-in'

/** The way to the company's identity provider, where there is one. */
export function SignInLink() {
  // The gateway says so in the page itself: a request of its own would stand before the first figures.
  return document.getElementById('page')?.dataset.signIn !== undefined ? (
    <>
      <a href="sign-in">Sign in with the company's account</a>, or with a token:{' '}
    </>
  ) : null
}

/** Ends a sign-in, and leaves the provider, too. A token that was typed in stays good. */
export async function endSignIn(token: string | null): Promise<void> {
  if (token === null || sessionStorage.getItem(SIGNED_IN) === null) return
  sessionStorage.removeItem(SIGNED_IN)
  try {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch('sign-in/end', { method: 'POST', headers, credentials: 'omit' })
    const { url }: { readonly url?: string | null } = await response.json()
    if (typeof url === 'string') location.assign(url)
  } catch {
    // It ends by itself.
  }
}
