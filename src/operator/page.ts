import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { NO_PARAMETERS } from '../http/listener.ts'

/** A file as it is served. */
export interface PageFile {
  readonly name: string
  readonly type: string
  readonly url: URL
  /** What is served in the place of the text of the file; absent: that text. */
  readonly edit?: (text: string) => string
}

interface Page {
  /** Where the page is; what it loads is under it. */
  readonly path: string
  readonly page: PageFile
  readonly files: readonly PageFile[]
  /** Origins of pages that may show it in theirs; absent: none. */
  readonly embedOrigins?: readonly string[]
}

/**
 * Only our own files run and load. Names from outside cannot become markup, since no code writes markup.
 */
function securityPolicy(ancestors: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

const asItIs = (text: string) => text

/** Serves a page and what it loads: these files, and nothing else of their folders. */
export function servePage(app: FastifyInstance, { path, page, files, embedOrigins = [] }: Page): void {
  const isEmbedded = embedOrigins.length > 0
  const policy = securityPolicy(isEmbedded ? embedOrigins.join(' ') : "'none'")
  const served = [{ ...page, at: path }, ...files.map((file) => ({ ...file, at: `${path}/${file.name}` }))]
  for (const { at, type, url, edit = asItIs } of served) {
    const content = edit(readFileSync(url, 'utf8'))
    const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
    app.get(at, NO_PARAMETERS, async (request, reply) => {
      reply.header('cache-control', 'no-cache').header('etag', etag)
      reply.header('content-security-policy', policy)
      // It knows no list of origins, and would forbid them all.
      if (isEmbedded) reply.removeHeader('x-frame-options')
      if (request.headers['if-none-match'] === etag) return reply.code(304).send()
      return reply.type(type).send(content)
    })
  }
}
