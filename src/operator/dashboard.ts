import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { NO_PARAMETERS } from '../http/listener.ts'

/** The page and what it loads: these files of `src/operator/dashboard` and nothing else. */
const FILES: readonly { readonly path: string; readonly file: string; readonly type: string }[] = [
  { path: '/dashboard', file: 'page.html', type: 'text/html; charset=utf-8' },
  { path: '/dashboard/style.css', file: 'style.css', type: 'text/css; charset=utf-8' },
  { path: '/dashboard/icon.svg', file: 'icon.svg', type: 'image/svg+xml' },
  ...['main', 'api', 'rounds', 'elements', 'format', 'chart', 'tables', 'limits', 'health'].map((name) => ({
    path: `/dashboard/${name}.js`,
    file: `${name}.js`,
    type: 'text/javascript; charset=utf-8',
  })),
]

/**
 * Only our own files run and load. Names from outside cannot become markup, since no code writes markup. The
 * page cannot be framed.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/**
 * `GET /dashboard`: the operator's page. It contains no figures: its script asks `/admin/v1` with the
 * operator's token.
 */
export function dashboard(app: FastifyInstance): void {
  for (const { path, file, type } of FILES) {
    const content = readFileSync(new URL(`./dashboard/${file}`, import.meta.url))
    const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
    app.get(path, NO_PARAMETERS, async (request, reply) => {
      reply.header('cache-control', 'no-cache').header('etag', etag)
      reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
      if (request.headers['if-none-match'] === etag) return reply.code(304).send()
      return reply.type(type).send(content)
    })
  }
}
