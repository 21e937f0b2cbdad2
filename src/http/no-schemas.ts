import type { FastifyServerOptions } from 'fastify'

/**
 * For a listener whose routes have no JSON schemas: Fastify then loads neither of the compilers that it has for them.
 * That is 15 ms of every start. A route with a schema is refused when it is added.
 */
export const NO_SCHEMAS: NonNullable<FastifyServerOptions['schemaController']> = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
}

function refuse(): never {
  throw new Error('this listener compiles no schemas: check what a route takes in its handler')
}
