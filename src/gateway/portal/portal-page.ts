import type { FastifyInstance } from 'fastify'
import { pageFile } from '../../operator/dashboard.ts'
import { servePage } from '../../operator/page.ts'

/** `GET /portal`: the clients' page. It contains no figures: its script asks `/portal/v1` with the client's token. */
export function portalPage(app: FastifyInstance, embedOrigins: readonly string[]): void {
  app.get('/', async (_request, reply) => reply.redirect('portal'))
  servePage(app, {
    path: '/portal',
    page: pageFile('portal.html'),
    files: ['portal.js', 'style.css', 'icon.svg'].map(pageFile),
    embedOrigins,
  })
}
