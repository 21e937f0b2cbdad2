import type { FastifyInstance } from 'fastify'
import { dashboardFile, typeOf } from '../../operator/dashboard.ts'
import { type PageFile, servePage } from '../../operator/page.ts'

const OWN = ['portal.css', 'main.js', 'api.js', 'parts.js']
const SHARED = ['style.css', 'icon.svg', 'elements.js', 'format.js', 'chart.js']

/** `GET /portal`: the clients' page. It contains no figures: its script asks `/portal/v1` with the client's token. */
export function portalPage(app: FastifyInstance, embedOrigins: readonly string[]): void {
  app.get('/', async (_request, reply) => reply.redirect('portal'))
  servePage(app, {
    path: '/portal',
    page: ownFile('page.html'),
    files: [...OWN.map(ownFile), ...SHARED.map(dashboardFile)],
    embedOrigins,
  })
}

function ownFile(name: string): PageFile {
  return { name, type: typeOf(name), url: new URL(`./page/${name}`, import.meta.url) }
}
