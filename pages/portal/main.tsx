import { parseAddress } from '../shared/address.ts'
import { Api } from '../shared/api.ts'
import { address } from '../shared/context.tsx'
import { openPage } from '../shared/page.tsx'
import { endSignIn, SignInLink, takeToken } from '../shared/sign-in.tsx'
import { account } from './account.ts'
import { KeysView } from './keys.tsx'
import { MembersView } from './members.tsx'
import { Usage } from './usage.tsx'

const TOKEN = 'tallygate-portal-token'
/** Where members sign in, from the page. */
const SIGN_IN = 'portal/sign-in'
const api = new Api('portal/v1', TOKEN)

/** Begins a token of a member, which comes of a sign-in alone: another page could have written its own into the address. */
const OF_MEMBER = 'tgm_'

/** Takes a token from behind # in the address, where no server and no log sees it, and removes it there. */
function takeTokenOfAddress(): boolean {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given === null) return false
  history.replaceState(null, '', location.pathname + location.search)
  address.value = parseAddress('')
  if (given.startsWith(OF_MEMBER)) return false
  api.keepToken(given)
  return true
}

/** Takes the token of a sign-in that leads here, which is in no address. */
async function takeTokenOfSignIn(): Promise<boolean> {
  if (location.hash !== '#signed-in') return false
  history.replaceState(null, '', location.pathname + location.search)
  address.value = parseAddress('')
  // Or else the answer to one that has ended would drop the new one.
  api.keepToken(null)
  const token = await takeToken(SIGN_IN)
  if (token !== null) api.keepToken(token)
  return token !== null
}

function Brand() {
  return <bdi>{account.value?.client ?? 'Usage'}</bdi>
}

takeTokenOfAddress()
const signedIn = takeTokenOfSignIn()
const page = openPage({
  brand: <Brand />,
  api,
  views: [
    { name: 'usage', title: 'Your usage', content: Usage },
    {
      name: 'keys',
      title: 'Your keys',
      content: KeysView,
      isShown: () => (account.value?.member ?? null) !== null,
    },
    {
      name: 'members',
      title: 'Members',
      content: MembersView,
      isShown: () => account.value?.member?.owner === true,
    },
  ],
  words: {
    title: 'Sign in',
    secret: 'API key',
    link: <SignInLink to={SIGN_IN} />,
    note: 'It is exchanged for a token that can only read, for 12 hours. This page does not keep the key.',
    wrong: 'That is not an API key of this gateway, or the sign-in has ended.',
    autocomplete: 'off',
  },
  signIn: (key) => api.exchange('session', key),
  async signOut() {
    account.value = null
    await endSignIn(SIGN_IN, TOKEN)
    // Where that fails, the token ends by itself.
    await api.change('DELETE', 'session').catch(() => null)
  },
})
void signedIn.then((isTaken) => {
  if (isTaken) page.enter()
})
window.addEventListener('hashchange', () => {
  if (takeTokenOfAddress()) page.enter()
})
