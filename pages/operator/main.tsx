import { Api } from '../shared/api.ts'
import { openPage } from '../shared/page.tsx'
import { endSignIn, SignInLink } from '../shared/sign-in.tsx'
import { VIEWS } from './views.ts'

const TOKEN = 'tallygate-admin-token'

openPage({
  brand: 'tallygate',
  api: new Api('admin/v1', TOKEN),
  views: VIEWS,
  words: {
    title: 'Operator sign-in',
    secret: 'Admin token',
    link: <SignInLink to="sign-in" />,
    note: (
      <>
        The value of <code>ADMIN_TOKEN</code>, which <code>npm start</code> prints, or a token of your own. It
        is kept in this tab until you close it.
      </>
    ),
    wrong: 'That is not a token of this gateway, or it has ended.',
    autocomplete: 'current-password',
  },
  signOut: () => endSignIn('sign-in', TOKEN),
})
