import type { FastifyInstance } from 'fastify'
import { type PageFile, servePage } from './page.ts'

const TYPES = { html: 'text/html', css: 'text/css', svg: 'image/svg+xml', js: 'text/javascript' } as const

/** A file of `src/operator/dashboard`, which other pages are made of, too. */
export function dashboardFile(name: string): PageFile {
  return { name, type: typeOf(name), url: new URL(`./dashboard/${name}`, import.meta.url) }
}

/** The content type of a file by its ending. */
export function typeOf(name: string): string {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1) as keyof typeof TYPES]
  return type === 'image/svg+xml' ? type : `${type}; charset=utf-8`
}

const FILES = [
  ...['style.css', 'icon.svg'],
  ...['main', 'api', 'rounds', 'elements', 'format', 'chart', 'tables', 'limits', 'health'].map(
    (name) => `${name}.js`,
  ),
]

/**
 * `GET /dashboard`: the operator's page. It contains no figures: its script asks `/admin/v1` with the
 * operator's token.
 */
export function dashboard(app: FastifyInstance): void {
  servePage(app, { path: '/dashboard', page: dashboardFile('page.html'), files: FILES.map(dashboardFile) })
}
