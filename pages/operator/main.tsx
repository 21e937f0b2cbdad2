import { Api } from '../shared/api.ts'
import { openPage } from '../shared/page.tsx'
import { endSignIn, SignInLink } from './sign-in.tsx'
import { VIEWS } from './views.ts'

openPage({
  brand: 'tallygate',
  api: new Api('admin/v1', 'tallygate-admin-token'),
  views: VIEWS,
  words: {
    title: 'Operator sign-in',
    secret: 'Admin token',
    note: (
      <>
        <SignInLink />
        The value of <code>ADMIN_TOKEN</code>, which <code>npm start</code> prints, or a token of your own. It
        is kept in this tab until you close it.
      </>
    ),
    wrong: 'That is not a token of this gateway, or it has ended.',
    autocomplete: 'current-password',
  },
  signOut: () => endSignIn(sessionStorage.getItem('tallygate-admin-token')),
})
