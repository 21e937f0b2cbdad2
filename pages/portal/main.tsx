import { parseAddress } from '../shared/address.ts'
import { Api } from '../shared/api.ts'
import { address } from '../shared/context.tsx'
import { openPage } from '../shared/page.tsx'
import { clientName, Usage } from './usage.tsx'

const api = new Api('portal/v1', 'tallygate-portal-token')

/** Takes a token from behind # in the address, where no server and no log sees it, and removes it there. */
function takeTokenOfAddress(): boolean {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given === null) return false
  history.replaceState(null, '', location.pathname + location.search)
  address.value = parseAddress('')
  api.keepToken(given)
  return true
}

function Brand() {
  return <bdi>{clientName.value === '' ? 'Usage' : clientName.value}</bdi>
}

takeTokenOfAddress()
const page = openPage({
  brand: <Brand />,
  api,
  views: [{ name: 'usage', title: 'Your usage', content: Usage }],
  words: {
    title: 'Sign in',
    secret: 'API key',
    note: 'It is exchanged for a token that can only read, for 12 hours. This page does not keep the key.',
    wrong: 'That is not an API key of this gateway, or the sign-in has ended.',
    autocomplete: 'off',
  },
  signIn: (key) => api.exchange('session', key),
  async signOut() {
    clientName.value = ''
    // Where that fails, the token ends by itself.
    await api.change('DELETE', 'session').catch(() => null)
  },
})
window.addEventListener('hashchange', () => {
  if (takeTokenOfAddress()) page.enter()
})
