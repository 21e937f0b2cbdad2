import type { FastifyInstance } from 'fastify'
import { type PageFile, servePage } from './page.ts'

const TYPES = { html: 'text/html', css: 'text/css', svg: 'image/svg+xml', js: 'text/javascript' } as const

/**
 * A file of `src/operator/pages`: what browsers load, as `npm run pages` bundled it.
 *
 * @param offersSignIn Whether people sign in with the company's account: an attribute in the page says so.
 */
export function pageFile(name: string, offersSignIn = false): PageFile {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1) as keyof typeof TYPES]
  return {
    name,
    type: type === 'image/svg+xml' ? type : `${type}; charset=utf-8`,
    url: new URL(`./pages/${name}`, import.meta.url),
    ...(offersSignIn ? { edit: (text) => text.replace('id="page"', 'id="page" data-sign-in') } : {}),
  }
}

/**
 * `GET /dashboard`: the operator's page. It contains no figures: its script asks `/admin/v1` with the
 * operator's token.
 *
 * @param offersSignIn Whether people sign in beside.
 */
export function dashboard(app: FastifyInstance, offersSignIn: boolean): void {
  servePage(app, {
    path: '/dashboard',
    page: pageFile('operator.html', offersSignIn),
    files: ['operator.js', 'style.css', 'icon.svg'].map((name) => pageFile(name)),
  })
}
