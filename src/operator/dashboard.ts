import type { FastifyInstance } from 'fastify'
import { NO_PARAMETERS } from '../http/listener.ts'
import { type PageFile, servePage } from './page.ts'

const TYPES = { html: 'text/html', css: 'text/css', svg: 'image/svg+xml', js: 'text/javascript' } as const

/** A file of `src/operator/pages`: what browsers load, as `npm run pages` bundled it. */
export function pageFile(name: string): PageFile {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1) as keyof typeof TYPES]
  return {
    name,
    type: type === 'image/svg+xml' ? type : `${type}; charset=utf-8`,
    url: new URL(`./pages/${name}`, import.meta.url),
  }
}

/**
 * `GET /dashboard`: the operator's page. It contains no figures: its script asks `/admin/v1` with the
 * operator's token. It asks `GET /sign-in/offer` whether people sign in beside.
 */
export function dashboard(app: FastifyInstance, offersSignIn: boolean): void {
  app.get('/sign-in/offer', NO_PARAMETERS, async () => ({ offered: offersSignIn }))
  servePage(app, {
    path: '/dashboard',
    page: pageFile('operator.html'),
    files: ['operator.js', 'style.css', 'icon.svg'].map(pageFile),
  })
}
