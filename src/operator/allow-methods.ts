import type { FastifyInstance, FastifyReply } from 'fastify'
import { sendError } from '../http/answer-error.ts'

/**
 * Answers what no route takes: 405 with the methods that the path takes, or 404 where there is no such path. Register
 * it before the routes.
 */
export function allowMethods(app: FastifyInstance): void {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ method, url }) => {
    const known = methods.get(url) ?? new Set()
    for (const name of [method].flat()) known.add(name)
    methods.set(url, known)
  })
  // `/limits/history` is a path of its own, and no limit, whatever else `/limits/:id` takes.
  // It is asked behind the token, and before the body, whose type a method like QUERY would be refused for.
  app.addHook('preParsing', (request, reply, payload, done) => {
    const [path = ''] = request.url.split('?')
    const { url } = request.routeOptions
    const own = url === path ? undefined : methods.get(path)
    if (own !== undefined) refuse(reply, own)
    else if (request.is404) nowhere(path, reply)
    else done(null, payload)
  })
  // A handler of its own gives unknown paths the hooks of these routes, such as the token's.
  app.setNotFoundHandler((request, reply) => nowhere(request.url, reply))

  function nowhere(path: string, reply: FastifyReply): void {
    const taken = [...methods].find(([url]) => isUnder(url, path))?.[1]
    if (taken === undefined) sendError(reply, 'not_found')
    else refuse(reply, taken)
  }
}

function refuse(reply: FastifyReply, taken: ReadonlySet<string>): void {
  sendError(reply.header('allow', [...taken].sort().join(', ')), 'method_not_allowed')
}

/** Whether a path is one of a route: `:id` stands for one segment. */
function isUnder(url: string, path: string): boolean {
  const wanted = url.split('/')
  const segments = path.split('/')
  return (
    wanted.length === segments.length &&
    wanted.every((part, index) => (part.startsWith(':') ? segments[index] !== '' : part === segments[index]))
  )
}
