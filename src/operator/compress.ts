import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'

/** Less than this fits into a packet either way. */
const LEAST_BYTES = 1_400

const CODINGS = {
  // As fast as gzip, and a fifth smaller. The default takes thirty times as long.
  br: (body: Buffer) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body: Buffer) => gzipped(body),
} as const
const brotli = promisify(brotliCompress)
const gzipped = promisify<Buffer, Buffer>(gzip)

/** Compresses answers that are in memory as a whole, off the loop, where the client takes it. Texts that stream stay plain. */
export function compress(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
    const body = Buffer.from(payload)
    if (body.length < LEAST_BYTES || reply.hasHeader('content-encoding')) return payload
    reply.header('vary', 'accept-encoding')
    const coding = codingFor(`${request.headers['accept-encoding'] ?? ''}`)
    if (coding === null) return payload
    const compressed = await CODINGS[coding](body)
    reply.header('content-encoding', coding).header('content-length', compressed.length)
    return compressed
  })
}

/** The first of ours that the client names and does not refuse. */
function codingFor(accepted: string): keyof typeof CODINGS | null {
  const named = accepted.split(',').flatMap((one) => {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase())
    return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name]
  })
  if (named.includes('br')) return 'br'
  return named.includes('gzip') ? 'gzip' : null
}
