import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the site is served, without a slash at its end. */
    readonly siteUrl: string
    /** Paths of its pages, as links name them. */
    readonly sitePages: readonly string[]
  }
}

const FOLDER = 'dist/site'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain',
}

/** Builds the site, and serves it as hosts of files do: compressed, pages without `.html`. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  execFileSync(process.execPath, ['docs/site/main.mjs', 'build'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const files = new Set(readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }))
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname).slice(1)
    const file = [path, `${path}.html`, 'index.html'].find((name) => files.has(name) && extname(name) !== '')
    const isThere = file !== undefined && (file !== 'index.html' || path === '')
    const name = isThere ? file : '404.html'
    response.writeHead(isThere ? 200 : 404, {
      'content-type': TYPES[extname(name)] ?? 'application/octet-stream',
      'content-encoding': 'gzip',
      'cache-control': name.startsWith('assets/') ? 'max-age=31536000, immutable' : 'no-cache',
    })
    response.end(gzipSync(readFileSync(join(FOLDER, name))))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the site has no port')
  project.provide('siteUrl', `http://127.0.0.1:${address.port}`)
  project.provide(
    'sitePages',
    [...files]
      .filter((name) => name.endsWith('.html') && name !== '404.html')
      .map((name) => `/${name.replace(/(?:index)?\.html$/, '')}`)
      .sort(),
  )
  return async () => {
    server.closeAllConnections()
    server.close()
  }
}
