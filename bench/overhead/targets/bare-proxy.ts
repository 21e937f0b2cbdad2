import type { AddressInfo } from 'node:net'
import httpProxy from '@fastify/http-proxy'
import Fastify from 'fastify'

/** @fastify/http-proxy as it comes: no key, no metering, no logging. What the gateway is measured against. */
const app = Fastify()
app.register(httpProxy, { upstream: process.env.UPSTREAM_URL ?? '' })
await app.listen({ port: 0, host: '127.0.0.1' })
process.send?.({ port: (app.server.address() as AddressInfo).port })
process.on('disconnect', () => process.exit(0))
