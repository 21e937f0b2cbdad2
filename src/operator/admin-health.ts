import type { FastifyInstance } from 'fastify'

export interface AdminHealthOptions {
  /** The findings of `doctor` as JSON. */
  readonly runChecks: () => Promise<object>
}

/** `/doctor`: what is reachable, what is wrong, and what to do about it. */
export function adminHealth(app: FastifyInstance, options: AdminHealthOptions): void {
  app.get('/doctor', () => options.runChecks())
}
